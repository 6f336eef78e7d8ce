// The official client, from where tests/npm_ci.sh has put it: an import looks
// for packages beside the file that imports, and they are not in this tree.
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const at = join(process.env.BIDE_CLIENTS, "node_modules",
	"@modelcontextprotocol", "client");

export const sdkVersion =
	JSON.parse(readFileSync(join(at, "package.json"), "utf8")).version;
export const {
	Client,
	DEFAULT_REQUEST_TIMEOUT_MSEC,
	MissingRequiredClientCapabilityError,
	ProtocolError,
	ResourceNotFoundError,
	SdkError,
	SdkErrorCode,
	SdkHttpError,
	StreamableHTTPClientTransport,
	UnsupportedProtocolVersionError,
	fromJsonSchema,
	isInputRequiredResult,
	withInputRequired,
} = await import(pathToFileURL(join(at, "dist", "index.mjs")));
