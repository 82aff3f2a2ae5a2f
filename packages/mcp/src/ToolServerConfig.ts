/** Defines the settings of a tool server. */
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"

/** How a tool server is reached: as a child process, or over HTTP. */
export type ToolServerReach =
  | {
      readonly type: "stdio"
      readonly command: string
      readonly args: ReadonlyArray<string>
      /** Added to the few variables that every process needs, which include none of Holdfast's keys. */
      readonly env: Readonly<Record<string, Redacted.Redacted>>
      /** An absolute path; `undefined`: the service's working directory. */
      readonly cwd: string | undefined
    }
  | {
      readonly type: "http"
      readonly url: string
      readonly headers: Readonly<Record<string, Redacted.Redacted>>
    }

/** A server of tools (MCP). */
export interface ToolServerConfig {
  readonly name: string
  readonly reach: ToolServerReach
  /** How long a call may take. */
  readonly timeout: Duration.Duration
  /** How long it may take from the start to the list of tools. */
  readonly startTimeout: Duration.Duration
  /** Turns wait for its tools and do not run without them. */
  readonly isRequired: boolean
  /** The most bytes of an output that the model gets. */
  readonly maxOutput: number
  /** Names of tools, or patterns with `*`: these tools run again after a crash (X8). */
  readonly idempotent: ReadonlyArray<string>
  /** Names of tools, or patterns with `*`: a person has to approve each call of them. */
  readonly confirm: ReadonlyArray<string>
  /** The time for an answer about such a call; after it the call counts as refused. */
  readonly answerWithin: Duration.Duration
  /** The tools that are offered; `undefined`: all. */
  readonly allow: ReadonlyArray<string> | undefined
  /** Tools that are not offered, even if `allow` lists them. */
  readonly deny: ReadonlyArray<string>
  /** All secrets in this entry, for redaction. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}
