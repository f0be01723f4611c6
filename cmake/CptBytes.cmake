# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpt_chars(VARIABLE HEX): the bytes that HEX has two digits of, as the elements of an array
# of characters in C, ten on each line, with a NUL.
function(cpt_chars variable hex)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
    set(one "'.x..',")
    string(REGEX REPLACE "(${one}${one}${one}${one}${one}${one}${one}${one}${one}${one})"
        "\\1\n" bytes "${bytes}")
    set(${variable} "${bytes}'\\0'" PARENT_SCOPE)
endfunction()
