/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_parts.h - the files of html/ as strings, which cmake/CptEmbed.cmake makes */
#ifndef CPTI_CLI_HTML_PARTS_H
#define CPTI_CLI_HTML_PARTS_H

extern const char cpti_html_parts_html[];
extern const char cpti_html_parts_css[];
extern const char cpti_html_parts_js[];

/* The page of sliders of cpt web. */
extern const char cpti_html_sliders_html[];
extern const char cpti_html_sliders_css[];
extern const char cpti_html_sliders_js[];

#endif
