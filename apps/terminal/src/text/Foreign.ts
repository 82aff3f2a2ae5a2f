/**
 * Makes every text of a model, a provider, a tool or the clipboard safe to write to the terminal.
 *
 * The result has no control character but line feeds, no bidirectional control, and no half of a surrogate pair: it cannot move the
 * cursor, change colours, set a title or reorder text. The function is idempotent, and line feeds and printable characters keep their
 * order.
 */
import { Printable } from "@holdfast/wire"

/** The text as it may be shown. Every foreign text passes through this function, and through no other. */
export const shown = (text: string): string =>
  Printable.harmless(text.replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, "\n"))
    .replaceAll("\t", TAB)
    .toWellFormed()

/** The same on one line, its blanks collapsed. */
export const oneLine = (text: string): string => shown(text).replaceAll(/\s+/g, " ").trim()

// --- internal

/** A tab would move the cursor to a column that nothing here computes. */
const TAB = "    "
