/** What the two threads say to each other. */
import type { Items } from "./Items.ts"

/** To the thread of the database. Nothing comes behind `Close`. */
export type Command =
  | { readonly _tag: "Open"; readonly path: string }
  /** Each call is its number among those of this thread, the number of what is called, and what that takes. */
  | { readonly _tag: "Calls"; readonly items: Items }
  | { readonly _tag: "Close" }

/** From it. What it does not say, its end says. */
export type Report =
  | { readonly _tag: "Opened" }
  /** The database cannot be opened; the words of a `StorageError`. */
  | { readonly _tag: "Refused"; readonly message: string }
  /** Each answer is the number of its call, an outcome, and what comes with that. */
  | { readonly _tag: "Answers"; readonly items: Items }

/** The outcome of a call that was done; what it gives comes behind. */
export const DONE = 0

/** That of one that failed; the words of a `StorageError` come behind. */
export const FAILED = 1

/** That of one that ran into a bug, which comes behind in words. */
export const DIED = 2
