# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what it needs
cpt collect; echo "exit $?"
cpt collect logs; echo "exit $?"
cpt collect -o logs --port 65536; echo "exit $?"
cpt collect -o logs --quiet 5; echo "exit $?"
cpt collect -o logs --quiet 1ms; echo "exit $?"
cpt collect -o logs --age 1s,2s; echo "exit $?"
cpt collect -o logs --share 0%; echo "exit $?"
cpt collect -o logs --share 101%; echo "exit $?"
cpt collect -o logs --memory 0; echo "exit $?"
cpt collect -o logs --trace-spans 16777217; echo "exit $?"
cpt collect -o logs --priority high; echo "exit $?"
cpt collect -o logs --name a/b; echo "exit $?"
cpt collect -o no/logs; echo "exit $?"
cpt collect -o logs --listen nowhere; echo "exit $?"
