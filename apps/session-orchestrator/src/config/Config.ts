/**
 * Defines the configuration in force, which the rest of the service reads.
 *
 * A value of `Config` is valid: every name in it exists, and every key that `model` needs is there, unless `missing` reports it. Keys,
 * tokens and headers are `Redacted` from the moment they are read.
 */
import type { ToolServerConfig } from "@holdfast/mcp"
import type { BuiltIn } from "@holdfast/providers"
import type { Proxies } from "@holdfast/providers/proxy"
import type { Allowance, Models, Prices, Profile } from "@holdfast/policy"
import type * as SpendLimits from "./limits/SpendLimits.ts"
import type { Target } from "@holdfast/wire"
import { Context, Data, type Redacted } from "effect"
import * as ConfigProblem from "./reading/ConfigProblem.ts"
import type { DefaultSettings, Plain, RequestSettings, Settings } from "./reading/Settings.ts"
import type { BodyFields, NoticeFormat } from "./reading/SettingTypes.ts"
import type { SettingOrigin } from "./reading/Sources.ts"

/** One of a provider's keys, under the name of its variable. */
export interface Credential {
  readonly name: string
  readonly value: Redacted.Redacted
}

/** A provider outside this process. */
interface RemoteProvider {
  readonly name: string
  /** The variables for keys, in order. Empty: the provider needs no key. */
  readonly apiKeyEnv: ReadonlyArray<string>
  /** The keys of those variables that are set. */
  readonly credentials: ReadonlyArray<Credential>
  /** Headers of every request, with their names as written and their variables expanded. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** The values of the variables in `headers`; absent: there are none. */
  readonly secrets?: ReadonlyArray<Redacted.Redacted>
  /** The operator's additions to requests; absent: none. */
  readonly request?: RequestOptions
  /** The limits of calls at once, requests and tokens a minute; absent: no limits. */
  readonly limits?: Allowance.Allowance
}

/** A provider that is reached over HTTP. */
interface HttpProvider extends RemoteProvider {
  readonly type: BuiltIn.ApiFormat
  readonly baseUrl: string
}

/** A provider of a package of the AI SDK. */
export interface AiSdkProvider extends RemoteProvider {
  readonly type: "ai-sdk"
  /** The package's name, or the path of a module. */
  readonly package: string
  /** The export that makes the provider; absent: the only one whose name begins with `create`. */
  readonly factory?: string
  /** Absent: the package's own address. */
  readonly baseUrl?: string
  /** What the factory is called with besides key, address and headers, with variables expanded. */
  readonly options: Redacted.Redacted<BodyFields>
  /** The names in `options`. */
  readonly optionNames: ReadonlyArray<string>
}

/** An operator's additions to a provider's requests. */
export interface RequestOptions extends RequestSettings {
  /** By model, merged after `body`. */
  readonly modelBody: ReadonlyMap<string, BodyFields>
}

/** The provider that simulates outages in this process. */
interface SimulatedProvider {
  readonly type: "simulated"
  readonly name: string
}

/** A provider of the configuration. */
export type ProviderConfig = HttpProvider | AiSdkProvider | SimulatedProvider

/** Headers by name. */
type Headers = Readonly<Record<string, Redacted.Redacted>>

/** The configuration in force. */
export class Config extends Context.Service<
  Config,
  Plain & {
    /** The file that was read, as an absolute path; absent when there was none. */
    readonly file: string | undefined
    readonly server: DefaultSettings["server"] & {
      /** The bearer token that clients must send; `undefined` only on a loopback address. */
      readonly token: Redacted.Redacted | undefined
      /** The variable of the token, if it came from one. */
      readonly tokenVariable?: string | undefined
    }
    /** The path is absolute, or `:memory:`, and not used if there is a `url`. */
    readonly database: DefaultSettings["database"] & {
      /** The PostgreSQL database that runners share. It may contain a password. */
      readonly url: Redacted.Redacted | undefined
    }
    /** How runners that share a `database.url` find each other. */
    readonly cluster: Omit<DefaultSettings["cluster"], "runner"> & {
      /** The address of this runner for the others. */
      readonly runner: { readonly host: string; readonly port: number }
    }
    /** By name: the built-in providers, and the file's, which replace built-in ones of the same name. */
    readonly providers: ReadonlyMap<string, ProviderConfig>
    /** In the order of the file. */
    readonly tools: ReadonlyArray<ToolServerConfig>
    /** The model of a conversation that names none; `undefined`: each has to name one. */
    readonly model: Target.Target | undefined
    /** Capabilities of models that the file lists, by `provider/model`. */
    readonly models: Models.Models
    /** Prices that the file lists, by `provider/model`; others are those of well-known models. */
    readonly prices: Prices.Prices
    /** Limits of spending; absent: there are none. */
    readonly spend?: ReadonlyArray<SpendLimits.SpendLimit>
    /** System prompts that conversations may name. */
    readonly systemPrompts: Readonly<Record<string, string>>
    /** The default retry settings, which a conversation's own settings override; `Profile.resolve` makes a policy of the result. */
    readonly retry: Profile.RetrySettings
    /** Telemetry. An absent part is off; metrics are always on. */
    readonly telemetry: {
      readonly retryLog: (DefaultSettings["retryLog"] & { readonly path: string }) | undefined
      /** The collector of traces. */
      readonly otlp: { readonly url: string; readonly headers: Headers } | undefined
      readonly notifications:
        | (Pick<DefaultSettings["notifications"], "after"> &
            Pick<NotificationSettings, "report" | "quiet"> & {
              readonly webhook: { readonly url: Redacted.Redacted; readonly headers: Headers } | undefined
              /** A program and its arguments. */
              readonly command: NotificationSettings["command"] | undefined
              /** How each receiver gets a notice; absent: as JSON. */
              readonly format?: NoticeFormat
              readonly commandFormat?: NoticeFormat
            })
        | undefined
    }
    /** Messages to receivers of turns' ends; absent: there are none. */
    readonly webhooks?:
      | { readonly secret: Redacted.Redacted; readonly turnEnd: Redacted.Redacted | undefined }
      | undefined
    /** The proxies of the environment; absent: every server is reached directly. */
    readonly proxies?: Redacted.Redacted<Proxies> | undefined
    /** The origin of each value, by path. A path that is missing here has its default. */
    readonly origins: ReadonlyMap<string, SettingOrigin>
    /** The lines of the file's keys, by path; absent: there was no file. */
    readonly lines?: ReadonlyMap<string, number>
    /** Why no service can run on it: a secret that is not set; absent: a service can. */
    readonly missing?: ConfigError
    /** Remarks for the operator that are no problems: one sentence or two each. */
    readonly notices: ReadonlyArray<string>
  }
>()("@holdfast/session-orchestrator/config/Config") {}

type NotificationSettings = NonNullable<NonNullable<Settings["telemetry"]>["notifications"]>

/** The value of the service. */
export type Values = Config["Service"]

/** The service does not start. The error has all problems of the configuration. */
export class ConfigError extends Data.TaggedError("ConfigError")<{
  /** The source: a file's name, or `The configuration`. */
  readonly subject: string
  readonly problems: ReadonlyArray<ConfigProblem.ConfigProblem>
}> {
  override get message(): string {
    const count = this.problems.length === 1 ? "a problem" : `${this.problems.length} problems`
    return [`${this.subject} has ${count}.`, ...this.problems.map(ConfigProblem.format)].join("\n  ")
  }
}
