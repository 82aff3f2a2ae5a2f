/** An error of Holdfast itself: of its options, its store or its use. A turn that fails has no such error: the cause is in its result. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError"
  /**
   * - `invalid-options`: the message names the option, what it was and what was expected.
   * - `store-failed`: the store threw; `cause` is its error. The turn is unsealed and continues with `resume()`.
   * - `turn-conflict`: a turn of this id exists with another prompt.
   * - `unsupported-runtime`: the runtime is too old; the message names what is needed.
   * - `closed`: the library was closed while the turn ran; it continues with `resume()`. Or its engine ended this run of it.
   */
  readonly code: "invalid-options" | "store-failed" | "turn-conflict" | "unsupported-runtime" | "closed"

  constructor(code: HoldfastError["code"], message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** The error of an option. */
export const invalid = (message: string, options?: { readonly cause?: unknown }): HoldfastError =>
  new HoldfastError("invalid-options", message, options)

/** The words of anything that is thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
