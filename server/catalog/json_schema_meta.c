/* SPDX-License-Identifier: MIT */
#include "server/catalog/json_schema_node.h"
#include <string.h>

/*
 * The meta-schemas of the two dialects, written down without their titles,
 * comments and defaults: for tools that take a JSON Schema as an argument
 * ({"$ref": "https://json-schema.org/draft/2020-12/schema"}). Nothing else in
 * the validator uses them; what a schema must look like is checked keyword by
 * keyword, which can say better what is wrong.
 *
 * Source: JSON Schema core, appendix D; validation, appendix A; draft-07.
 */
#define BASE "https://json-schema.org/draft/2020-12/"
#define HEAD(name)                                                             \
	"{\"$schema\":\"" BASE "schema\",\"$id\":\"" BASE name "\","           \
	"\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],"
#define META        "{\"$dynamicRef\":\"#meta\"}"
#define MAP_OF_META "{\"type\":\"object\",\"additionalProperties\":" META "}"

static const char schema[] = HEAD(
	"schema") "\"allOf\":[{\"$ref\":\"meta/core\"},{\"$ref\":\"meta/applicator\"},"
		  "{\"$ref\":\"meta/unevaluated\"},{\"$ref\":\"meta/validation\"},"
		  "{\"$ref\":\"meta/meta-data\"},"
		  "{\"$ref\":\"meta/format-annotation\"},{\"$ref\":\"meta/content\"}],"
		  "\"properties\":{\"definitions\":" MAP_OF_META ","
		  "\"dependencies\":{\"type\":\"object\",\"additionalProperties\":"
		  "{\"anyOf\":[" META
		  ",{\"$ref\":\"meta/validation#/$defs/stringArray\""
		  "}]}},"
		  "\"$recursiveAnchor\":{\"$ref\":\"meta/core#/$defs/anchorString\"},"
		  "\"$recursiveRef\":{\"$ref\":\"meta/core#/$defs/uriReferenceString\"}"
		  "}}";

static const char core[] = HEAD(
	"meta/core") "\"properties\":{"
		     "\"$id\":{\"$ref\":\"#/$defs/uriReferenceString\","
		     "\"pattern\":\"^[^#]*#?$\"},"
		     "\"$schema\":{\"$ref\":\"#/$defs/uriString\"},"
		     "\"$ref\":{\"$ref\":\"#/$defs/uriReferenceString\"},"
		     "\"$anchor\":{\"$ref\":\"#/$defs/anchorString\"},"
		     "\"$dynamicRef\":{\"$ref\":\"#/$defs/uriReferenceString\"},"
		     "\"$dynamicAnchor\":{\"$ref\":\"#/$defs/anchorString\"},"
		     "\"$vocabulary\":{\"type\":\"object\","
		     "\"propertyNames\":{\"$ref\":\"#/$defs/uriString\"},"
		     "\"additionalProperties\":{\"type\":\"boolean\"}},"
		     "\"$comment\":{\"type\":\"string\"},"
		     "\"$defs\":" MAP_OF_META "},"
		     "\"$defs\":{"
		     "\"anchorString\":{\"type\":\"string\","
		     "\"pattern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"},"
		     "\"uriString\":{\"type\":\"string\",\"format\":\"uri\"},"
		     "\"uriReferenceString\":{\"type\":\"string\","
		     "\"format\":\"uri-reference\"}}}";

static const char applicator[] = HEAD(
	"meta/applicator") "\"properties\":{"
			   "\"prefixItems\":{\"$ref\":\"#/$defs/schemaArray\"},"
			   "\"items\":" META ",\"contains\":" META ","
			   "\"additionalProperties\":" META ","
			   "\"properties\":" MAP_OF_META ","
			   "\"patternProperties\":{\"type\":\"object\","
			   "\"additionalProperties\":" META ","
			   "\"propertyNames\":{\"format\":\"regex\"}},"
			   "\"dependentSchemas\":" MAP_OF_META ","
			   "\"propertyNames\":" META ",\"if\":" META
			   ",\"then\":" META ","
			   "\"else\":" META ",\"not\":" META ","
			   "\"allOf\":{\"$ref\":\"#/$defs/schemaArray\"},"
			   "\"anyOf\":{\"$ref\":\"#/$defs/schemaArray\"},"
			   "\"oneOf\":{\"$ref\":\"#/$defs/schemaArray\"}},"
			   "\"$defs\":{\"schemaArray\":{\"type\":\"array\",\"minItems\":1,"
			   "\"items\":" META "}}}";

static const char unevaluated[] =
	HEAD("meta/unevaluated") "\"properties\":{\"unevaluatedItems\":" META
				 ","
				 "\"unevaluatedProperties\":" META "}}";

static const char validation[] = HEAD(
	"meta/validation") "\"properties\":{"
			   "\"type\":{\"anyOf\":[{\"$ref\":\"#/$defs/simpleTypes\"},"
			   "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/simpleTypes\"},"
			   "\"minItems\":1,\"uniqueItems\":true}]},"
			   "\"const\":true,\"enum\":{\"type\":\"array\",\"items\":true},"
			   "\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":0},"
			   "\"maximum\":{\"type\":\"number\"},"
			   "\"exclusiveMaximum\":{\"type\":\"number\"},"
			   "\"minimum\":{\"type\":\"number\"},"
			   "\"exclusiveMinimum\":{\"type\":\"number\"},"
			   "\"maxLength\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"minLength\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},"
			   "\"maxItems\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"minItems\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"uniqueItems\":{\"type\":\"boolean\"},"
			   "\"maxContains\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"minContains\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"maxProperties\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"minProperties\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},"
			   "\"required\":{\"$ref\":\"#/$defs/stringArray\"},"
			   "\"dependentRequired\":{\"type\":\"object\","
			   "\"additionalProperties\":{\"$ref\":\"#/$defs/stringArray\"}}},"
			   "\"$defs\":{"
			   "\"nonNegativeInteger\":{\"type\":\"integer\",\"minimum\":0},"
			   "\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\","
			   "\"null\",\"number\",\"object\",\"string\"]},"
			   "\"stringArray\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
			   "\"uniqueItems\":true}}}";

static const char meta_data[] = HEAD(
	"meta/meta-data") "\"properties\":{\"title\":{\"type\":\"string\"},"
			  "\"description\":{\"type\":\"string\"},\"default\":true,"
			  "\"deprecated\":{\"type\":\"boolean\"},"
			  "\"readOnly\":{\"type\":\"boolean\"},"
			  "\"writeOnly\":{\"type\":\"boolean\"},"
			  "\"examples\":{\"type\":\"array\",\"items\":true}}}";

static const char format_annotation[] = HEAD(
	"meta/format-annotation") "\"properties\":{\"format\":{\"type\":\"string\"}}}";

static const char content[] = HEAD(
	"meta/content") "\"properties\":{\"contentEncoding\":{\"type\":\"string\"},"
			"\"contentMediaType\":{\"type\":\"string\"},"
			"\"contentSchema\":" META "}}";

#define ROOT        "{\"$ref\":\"#\"}"
#define MAP_OF_ROOT "{\"type\":\"object\",\"additionalProperties\":" ROOT "}"
#define COUNT       "{\"$ref\":\"#/definitions/nonNegativeInteger\"}"
#define TEXT        "{\"type\":\"string\"}"
#define NUMBER      "{\"type\":\"number\"}"
#define ROOTS       "{\"$ref\":\"#/definitions/schemaArray\"}"
#define STRINGS     "{\"$ref\":\"#/definitions/stringArray\"}"

static const char draft_07[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
	"\"$id\":\"http://json-schema.org/draft-07/schema#\","
	"\"type\":[\"object\",\"boolean\"],"
	"\"definitions\":{"
	"\"schemaArray\":{\"type\":\"array\",\"minItems\":1,"
	"\"items\":" ROOT "},"
	"\"nonNegativeInteger\":{\"type\":\"integer\",\"minimum\":0},"
	"\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\","
	"\"null\",\"number\",\"object\",\"string\"]},"
	"\"stringArray\":{\"type\":\"array\",\"items\":" TEXT ","
	"\"uniqueItems\":true}},"
	"\"properties\":{"
	"\"$id\":" TEXT ",\"$schema\":{\"type\":\"string\","
	"\"format\":\"uri\"},\"$ref\":" TEXT ",\"$comment\":" TEXT ","
	"\"title\":" TEXT ",\"description\":" TEXT ","
	"\"readOnly\":{\"type\":\"boolean\"},"
	"\"writeOnly\":{\"type\":\"boolean\"},"
	"\"examples\":{\"type\":\"array\"},"
	"\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":0},"
	"\"maximum\":" NUMBER ",\"exclusiveMaximum\":" NUMBER ","
	"\"minimum\":" NUMBER ",\"exclusiveMinimum\":" NUMBER ","
	"\"maxLength\":" COUNT ",\"minLength\":" COUNT ","
	"\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},"
	"\"additionalItems\":" ROOT ","
	"\"items\":{\"anyOf\":[" ROOT "," ROOTS "]},"
	"\"maxItems\":" COUNT ",\"minItems\":" COUNT ","
	"\"uniqueItems\":{\"type\":\"boolean\"},\"contains\":" ROOT ","
	"\"maxProperties\":" COUNT ",\"minProperties\":" COUNT ","
	"\"required\":" STRINGS ",\"additionalProperties\":" ROOT ","
	"\"definitions\":" MAP_OF_ROOT ",\"properties\":" MAP_OF_ROOT ","
	"\"patternProperties\":" MAP_OF_ROOT ","
	"\"dependencies\":{\"type\":\"object\",\"additionalProperties\":"
	"{\"anyOf\":[" ROOT "," STRINGS "]}},"
	"\"propertyNames\":" ROOT ",\"enum\":{\"type\":\"array\"},"
	"\"type\":{\"anyOf\":[{\"$ref\":\"#/definitions/simpleTypes\"},"
	"{\"type\":\"array\",\"items\":{\"$ref\":"
	"\"#/definitions/simpleTypes\"},\"minItems\":1,"
	"\"uniqueItems\":true}]},"
	"\"format\":" TEXT ",\"contentMediaType\":" TEXT ","
	"\"contentEncoding\":" TEXT ","
	"\"if\":" ROOT ",\"then\":" ROOT ",\"else\":" ROOT ","
	"\"allOf\":" ROOTS ",\"anyOf\":" ROOTS ",\"oneOf\":" ROOTS ","
	"\"not\":" ROOT "}}";

const char *schema_meta_text(const char *uri)
{
	static const struct {
		const char *uri, *text;
	} documents[] = {
		{BASE "schema", schema},
		{BASE "meta/core", core},
		{BASE "meta/applicator", applicator},
		{BASE "meta/unevaluated", unevaluated},
		{BASE "meta/validation", validation},
		{BASE "meta/meta-data", meta_data},
		{BASE "meta/format-annotation", format_annotation},
		{BASE "meta/content", content},
		{"http://json-schema.org/draft-07/schema", draft_07},
	};

	for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
		if (strcmp(documents[i].uri, uri) == 0)
			return documents[i].text;
	}
	return NULL;
}
