#include "tests/support/suites.h"
CU_TestInfo cpt_service_tests[] = {CU_TEST_INFO_NULL};
