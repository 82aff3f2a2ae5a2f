/**
 * The configuration in force: what the rest of the service reads.
 *
 * G1. Whoever holds one holds a good one: every name in it was looked up, every key that `model` needs is there.
 * G2. Keys, tokens and headers are `Redacted` from the moment they are read.
 */
import type { Allowance, Models, Profile } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Context, Data, type Duration, type Redacted } from "effect"
import * as Problem from "./reading/Problem.ts"
import type { Body } from "./reading/RequestSettings.ts"
import type { Plain } from "./reading/Settings.ts"

/** One of a provider's keys, and the variable that it came from. */
export interface Credential {
  readonly name: string
  readonly value: Redacted.Redacted
}

/** A provider that is reached over HTTP. */
export interface HttpProvider {
  readonly type: "openai-compatible" | "anthropic"
  readonly name: string
  readonly baseUrl: string
  /** Variables that were looked at for keys, in order. None: the provider needs no key. */
  readonly apiKeyEnv: ReadonlyArray<string>
  /** Those that were set. */
  readonly credentials: ReadonlyArray<Credential>
  /** Sent with every request; names as they were written, variables expanded. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** The values of the variables in `headers`; absent: there are none. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted>
  /** What the operator adds to requests; absent: nothing. */
  readonly request?: RequestOptions
  /** What it may be asked at once and in a minute; absent: no limits. */
  readonly limits?: Allowance.Allowance
}

/** What an operator adds to a provider's requests. */
export interface RequestOptions {
  /** Merged into every body. */
  readonly body: Body | undefined
  /** By model, merged after `body`. */
  readonly modelBody: ReadonlyMap<string, Body>
  /** Anthropic: the most tokens of an answer. */
  readonly maxTokens: number | undefined
  /** Anthropic: whether the prompt is marked for the provider's cache. */
  readonly promptCaching: boolean | undefined
}

export interface SimulatedProvider {
  readonly type: "simulated"
  readonly name: string
}

export type ProviderConfig = HttpProvider | SimulatedProvider

/** How a tool server is reached: as a process of its own, or over HTTP. */
export type ToolServerReach =
  | {
      readonly type: "stdio"
      readonly command: string
      readonly args: ReadonlyArray<string>
      /** On top of the few variables that every process needs; none of Holdfast's own keys are among them. */
      readonly env: Readonly<Record<string, Redacted.Redacted>>
      /** An absolute path; without it the service's own. */
      readonly cwd: string | undefined
    }
  | {
      readonly type: "http"
      readonly url: string
      readonly headers: Readonly<Record<string, Redacted.Redacted>>
    }

/** A server of tools (MCP). */
export interface ToolServer {
  readonly name: string
  readonly reach: ToolServerReach
  /** How long a call may take. */
  readonly timeout: Duration.Duration
  /** How long it may take from its start to its list of tools. */
  readonly startTimeout: Duration.Duration
  /** Turns do not run without its tools. */
  readonly isRequired: boolean
  /** How much of an output the model is given, in bytes. */
  readonly maxOutput: number
  /** Names of tools, or patterns with `*`: those that are run again after a crash (X8). */
  readonly idempotent: ReadonlyArray<string>
  /** Those that are offered; `undefined`: all. */
  readonly allow: ReadonlyArray<string> | undefined
  /** Those that are not, whatever `allow` says. */
  readonly deny: ReadonlyArray<string>
  /** What of all this must be seen by nobody. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

/** Where a value in force came from: `default`, a file's name, a variable or a flag. */
export type Origin = string

export class Config extends Context.Service<
  Config,
  {
    /** The file that was read, as an absolute path; absent when there was none. */
    readonly file: string | undefined
    readonly server: Plain<"server"> & {
      /** What clients must send as a bearer token; absent only on a loopback address. */
      readonly token: Redacted.Redacted | undefined
      /** The variable that it is in, where it is in one. */
      readonly tokenVariable?: string | undefined
    }
    readonly database: Plain<"database"> & {
      /** An absolute path, or `:memory:`. Not used where there is a `url`. */
      readonly path: string
      /** The PostgreSQL database that the runners of a cluster share; a password may stand in it. */
      readonly url: Redacted.Redacted | undefined
    }
    /** How runners that share a `database.url` find each other. */
    readonly cluster: Plain<"cluster"> & {
      /** Where the others reach this one. */
      readonly runner: { readonly host: string; readonly port: number }
    }
    /** By name: the built-in ones, and those of the file over them. */
    readonly providers: ReadonlyMap<string, ProviderConfig>
    /** Whether those who wait for one endpoint are kept from stampeding it (X5). */
    readonly gate: Plain<"gate">
    /** In the order of the file. */
    readonly tools: ReadonlyArray<ToolServer>
    /** What a conversation that names no model runs on. */
    readonly model: Target.Target
    /** What models can take, where the file says so; by `provider/model`. */
    readonly models: Models.Models
    /** What a conversation's own settings are merged over; `Profile.resolve` makes a policy of it. */
    readonly retry: Profile.RetrySettings
    /** The least severe lines that are logged. */
    readonly log: Plain<"log">
    /** What the service tells of itself; what is absent is off. Metrics are always there. */
    readonly telemetry: {
      readonly retryLog:
        | { readonly path: string; readonly maxBytes: number; /** Older files beside it. */ readonly keep: number }
        | undefined
      /** Where traces are posted. */
      readonly otlp: { readonly url: string; readonly headers: Readonly<Record<string, Redacted.Redacted>> } | undefined
      readonly notifications:
        | {
            /** How long nobody has been answered before it is an incident. */
            readonly after: Duration.Duration
            readonly webhook:
              | { readonly url: Redacted.Redacted; readonly headers: Readonly<Record<string, Redacted.Redacted>> }
              | undefined
            /** A program and its arguments. */
            readonly command: readonly [string, ...ReadonlyArray<string>] | undefined
            /** The file that incidents are kept in over a restart; absent: they are not. */
            readonly state: string | undefined
          }
        | undefined
    }
    /** The proxies of the environment; absent: every server is reached directly. */
    readonly proxy?:
      | {
          readonly http: Redacted.Redacted | undefined
          readonly https: Redacted.Redacted | undefined
          /** Hosts that are reached directly, as `NO_PROXY` lists them. */
          readonly exceptions: string
        }
      | undefined
    /** By path. What is not here is the default. */
    readonly origins: ReadonlyMap<string, Origin>
    /** What the person should know although nothing is wrong: one sentence or two each. */
    readonly notices: ReadonlyArray<string>
  }
>()("@holdfast/session-orchestrator/config/Config") {}

/** The value of the service. */
export type Values = Config["Service"]

/** The service does not start: everything that is wrong, at once. */
export class ConfigError extends Data.TaggedError("ConfigError")<{
  /** What was read: a file's name, or `The environment`. */
  readonly subject: string
  readonly problems: ReadonlyArray<Problem.Problem>
}> {
  override get message(): string {
    const count = this.problems.length === 1 ? "a problem" : `${this.problems.length} problems`
    return [`${this.subject} has ${count}.`, ...this.problems.map(Problem.format)].join("\n  ")
  }
}
