/** An error of `holdfast rpc`, or of its process. A turn that fails has no such error: the cause is in its result. */
export class RpcError extends Error {
  override readonly name = "RpcError"
  /**
   * - `refused`: the command was refused; the message names what was wrong and what was expected.
   * - `closed`: the process has ended, or could not be started. Its turns are on disk and continue with the option `conversation`.
   * - `invalid-output`: the process wrote something else than lines of `holdfast rpc`.
   * - `too-slow`: an iteration over the events fell too far behind.
   */
  readonly code: "refused" | "closed" | "invalid-output" | "too-slow"

  /** Of a refused command: the name of the problem, as in the API, such as `turn-conflict`. */
  readonly problem: string | undefined

  constructor(
    code: RpcError["code"],
    message: string,
    { problem, ...options }: { readonly problem?: string | undefined; readonly cause?: unknown } = {}
  ) {
    super(message, options)
    this.code = code
    this.problem = problem
  }
}
