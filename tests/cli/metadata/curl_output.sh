# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the whole output of curl
value=$(make_log metadata)
printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCritical-Path-Bin: %s\r\n\r\nok' "$value" |
    cpt metadata | head -1
printf '> GET / HTTP/1.1\r\n< HTTP/1.1 200 OK\r\n< critical-path-bin: %s\r\n<\r\n' "$value" |
    cpt metadata | head -1
