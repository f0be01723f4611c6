# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder has at most 65,536 files; a part of the logs would be a wrong answer
mkdir logs
make_log few >logs/a.cptlog
seq -f 'logs/%.0f' 65534 | xargs touch
cpt report logs | head -1 | cut -d, -f1
touch logs/last
cpt report logs | head -1 | cut -d, -f1
touch logs/more
cpt report logs; echo $?
