/**
 * Quotes foreign text in a message: escaped as in JSON, and cut short.
 *
 * A quotation is short however long the text is, so the message stays readable.
 */

/** The most characters of a quoted text: longer than any intended name. */
const LONGEST = 60

/** The most characters of a library's message: some sentences. */
const LONGEST_MESSAGE = 400

/** The text in quotation marks. A long text is cut, and the number of further characters is added. */
export const of = (text: string): string =>
  text.length <= LONGEST
    ? JSON.stringify(text)
    : `${JSON.stringify(beginningOf(text))} and ${text.length - LONGEST} characters more`

/** The text without quotation marks, such as a key in a path. A long text is cut after `most` characters. */
export const clip = (text: string, most = LONGEST): string =>
  text.length <= most ? text : `${beginningOf(text, most)}…`

/** A library's message, which may quote foreign text in full. A long message is cut. */
export const message = (text: string): string => clip(text, LONGEST_MESSAGE)

// --- internal

/** A cut may split a surrogate pair. */
const beginningOf = (text: string, length = LONGEST): string => text.slice(0, length).toWellFormed()
