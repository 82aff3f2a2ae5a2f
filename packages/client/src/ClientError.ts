/** The error of a call or a stream. A turn that fails has none: its cause is in its result. */
import type { Problem } from "@holdfast/wire/api"

/** A problem of the service, as its `type` names it. */
export type ProblemCode = keyof (typeof Problem)["problems"]

/** A problem of the service (RFC 9457). Some have further keys. */
export interface ProblemDetails {
  /** A link to the explanation, from the service's address. */
  readonly type: string
  readonly title: string
  readonly status: number
  /** What was wrong with this request, and what to do. */
  readonly detail?: string
  /** The mistakes of a request that is not valid. */
  readonly errors?: ReadonlyArray<{ readonly in: string; readonly path: string; readonly message: string }>
  readonly [key: string]: unknown
}

/**
 * An error of the client or of the service.
 *
 * **Example**
 *
 * ```ts
 * if (error instanceof ClientError && error.code === "turn-conflict") console.log(error.problem?.detail)
 * ```
 */
export class ClientError extends Error {
  override readonly name = "ClientError"
  /**
   * The name of a problem of the service, or:
   *
   * - `unreachable`: the service did not answer.
   * - `invalid-response`: what answered is no service of this version.
   * - `restored`: the conversation has fewer events than this client has: the service runs on an earlier copy. Begin again without `after`.
   * - `closed`: the client was closed.
   */
  readonly code: ProblemCode | "unreachable" | "invalid-response" | "restored" | "closed"
  /** The HTTP status, where there was a response. */
  readonly status: number | undefined
  /** The problem of the service. */
  readonly problem: ProblemDetails | undefined

  constructor(
    code: ClientError["code"],
    message: string,
    {
      problem,
      status,
      ...options
    }: { readonly problem?: ProblemDetails; readonly status?: number; readonly cause?: unknown } = {}
  ) {
    super(message, options)
    this.code = code
    this.status = status
    this.problem = problem
  }

  /** What was wrong, without the call that it was about. */
  get detail(): string {
    return this.problem === undefined ? this.message : wordsOf(this.problem)
  }
}

/** The mistakes of a request by their places, or else what the problem is. */
export const wordsOf = ({ detail, errors = [], title }: ProblemDetails): string =>
  errors.length === 0
    ? (detail ?? title)
    : errors.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`)).join("; ")

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
