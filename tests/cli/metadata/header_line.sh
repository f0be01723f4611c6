# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a whole header line, on the command line and from standard input
value=$(make_log metadata)
cpt metadata "Critical-Path-Bin: $value" | head -1
printf 'critical-path-bin: %s\r\n' "$value" | cpt metadata | head -1
printf '"%s"\n' "$value" | cpt metadata - | head -1
