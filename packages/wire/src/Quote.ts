/**
 * Text from outside, quoted in a message: as JSON has it, and cut short.
 *
 * Quote.Q1. A quotation is short however long the text is, so a message stays one that a person reads.
 */

/** More than any name that was meant has. */
const LONGEST = 60

/** Some sentences. */
const LONGEST_MESSAGE = 400

/** A text in quotation marks; of a long one the beginning, and how much more there is. */
export const of = (text: string): string =>
  text.length <= LONGEST
    ? JSON.stringify(text)
    : `${JSON.stringify(beginningOf(text))} and ${text.length - LONGEST} characters more`

/** A text without quotation marks, such as a key in a path; of a long one the beginning. */
export const clip = (text: string): string => (text.length <= LONGEST ? text : `${beginningOf(text)}…`)

/** A library's message, which may quote text from outside whole; of a long one the beginning. */
export const message = (text: string): string =>
  text.length <= LONGEST_MESSAGE ? text : `${beginningOf(text, LONGEST_MESSAGE)}…`

// --- internal

/** A cut may fall into a character of two halves. */
const beginningOf = (text: string, length = LONGEST): string => text.slice(0, length).toWellFormed()
