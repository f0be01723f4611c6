# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a file in the place of a value, and an answer without a path
echo x > answer
cpt metadata answer; echo $?
printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' | cpt metadata
