# count.awk - "passed failed skipped" from ctest's LastTest.log. A cmocka program
# counts by its test functions, any other test as one.
function settle()
{
	if (!open)
		return
	if (verdict == "")
		verdict = "Failed"
	if (cases == 0 && verdict == "Skipped")
		skipped++
	else if (cases == 0 && verdict == "Passed")
		passed++
	else if (cases == 0)
		failed++
	passed += case_passed
	failed += case_failed
	skipped += case_skipped
	# It broke outside its test functions: a crash, a leak, the time limit.
	if (cases > 0 && verdict == "Failed" && case_failed == 0)
		failed++
	open = 0
}

/^[0-9]+\/[0-9]+ Testing: / {
	settle()
	open = 1
	verdict = ""
	cases = case_passed = case_failed = case_skipped = 0
}

# Of the two lines that cmocka prints with [  FAILED  ], the one with "test(s)"
# is the sum.
/^\[==========\] .*test\(s\) run\.$/ { cases++ }
/^\[  PASSED  \] [0-9]+ test\(s\)/   { case_passed += $4 }
/^\[  FAILED  \] [0-9]+ test\(s\)/   { case_failed += $4 }
/^\[  SKIPPED \] [0-9]+ test\(s\)/   { case_skipped += $4 }
/^Test Passed\./  { verdict = "Passed" }
/^Test Failed\./  { verdict = "Failed" }
/^Test Skipped\./ { verdict = "Skipped" }

END {
	settle()
	print passed + 0, failed + 0, skipped + 0
}
