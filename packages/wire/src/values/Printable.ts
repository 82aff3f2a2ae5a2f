/**
 * Removes from a foreign text what a terminal or a page would obey instead of showing.
 *
 * `harmless` removes the control characters of ASCII and Latin-1 except tab and line feed, the separators of lines and paragraphs, and
 * every bidirectional control (U+202E and the others). Everything else stays, in its order.
 */

/** ECMA-48 has a CSI at 0x9b, so Latin-1 counts. Each of these characters is one unit of UTF-16. */
export const CONTROLS = String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]`

const CONTROL = new RegExp(CONTROLS, "gu")

/** The text without control characters; line feeds and tabs stay. */
export const harmless = (text: string): string => text.replaceAll(CONTROL, "")
