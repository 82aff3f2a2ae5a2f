/**
 * What a person may write down: the shape of `holdfast.config.json`.
 *
 * Every key is optional, so that the file, the environment and the command line are each decoded by this one schema and
 * merged afterwards. What the keys mean together is `Resolve.ts`'s; what each is for, with defaults and units, is
 * docs/configuration.md, which a test holds against this schema.
 */
import { Durations, Models, Profile } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import { Duration, Schema, type SchemaAST } from "effect"
import { Body } from "./RequestSettings.ts"

/** A token that somebody could guess protects nothing, and one this short could not be redacted without false alarms. */
export const SHORTEST_TOKEN = 16

const text = (expected: string) => Schema.String.annotate({ message: `Expected ${expected}` })

const filled = (expected: string) => matching(/\S/u, expected)

const matching = (pattern: RegExp, expected: string) =>
  text(expected).check(Schema.isPattern(pattern, { message: `Expected ${expected}` }))

/** A text that code checks; `pattern` is what an editor can check of it. */
const checked = (isGood: (value: string) => boolean, pattern: string, expected: string) =>
  text(expected).check(
    Schema.makeFilter((value) => isGood(value) || `Expected ${expected}`, { toJsonSchema: () => [{ pattern }, true] })
  )

/** A secret is wrapped where it is read. Only this decoder has its plain string. */
const Secret = text(`a string of at least ${SHORTEST_TOKEN} characters`)
  .check(
    Schema.isMinLength(SHORTEST_TOKEN, {
      message: `Expected a string of at least ${SHORTEST_TOKEN} characters`,
      // A header carries a token, so it is ASCII, and a code point is a character.
      toJsonSchema: () => ({ minLength: SHORTEST_TOKEN })
    })
  )
  .pipe(Schema.RedactedFromValue)

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u

const VariableName = matching(VARIABLE_NAME, "the name of an environment variable (not the key itself)")

/** RFC 9110, section 5.5: visible characters and blanks; a line break would start another header. */
export const HEADER_VALUE = /^[\x20-\x7e]*$/u

const HeaderValue = matching(HEADER_VALUE, "a header's value: printable ASCII on one line").pipe(
  Schema.RedactedFromValue
)

/** RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/u

/** A name stands before the first `/` of `provider/model`. */
const PROVIDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/u

/** A record whose keys are checked one by one, each under its own path. */
const named = <V extends Schema.Constraint>(pattern: RegExp, expected: string, value: V) =>
  Schema.Record(Schema.String, value).check(
    Schema.makeFilter(
      (record) =>
        Object.keys(record)
          .filter((name) => !pattern.test(name))
          .map((name) => ({ path: [name], issue: `this name will not do; expected ${expected}.` })),
      { toJsonSchema: () => ({ propertyNames: { pattern: pattern.source } }) }
    )
  )

const Headers = named(HEADER_NAME, "a header: letters, digits and '-'", HeaderValue)

/** What an address must be like, for messages. */
export const BASE_URL =
  'an http or https address such as "https://api.openai.com/v1", without a user and without a fragment'

/** Whether a text is an address that something is asked at. */
export const isBaseUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return isWebhook(text) && url?.username === "" && url.password === "" && url.hash === ""
}

/** Whether a text is an address that something can be posted to. */
export const isWebhook = (text: string): boolean => {
  const protocol = URL.parse(text)?.protocol
  return protocol === "https:" || protocol === "http:"
}

/** The beginning of addresses, in any case; `URL` passes over space before it. */
const HTTP = "^\\s*[Hh][Tt][Tt][Pp][Ss]?:"

/** Where a provider is. */
export const BaseUrl = checked(isBaseUrl, HTTP, BASE_URL)

const PORT = "an integer from 0 to 65535"

export const ServerSettings = Schema.Struct({
  host: Schema.optionalKey(filled('an address to listen on, such as "127.0.0.1"')),
  port: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${PORT}` }).check(
      Schema.isInt({ message: `Expected ${PORT}` }),
      Schema.isBetween({ minimum: 0, maximum: 65_535 }, { message: `Expected ${PORT}` })
    )
  ),
  hostnames: Schema.optionalKey(
    Schema.Array(matching(/^[A-Za-z0-9.-]+$/u, 'a host\'s name without a port, such as "holdfast.example.org"'))
  ),
  token: Schema.optionalKey(Secret),
  tokenEnv: Schema.optionalKey(VariableName)
})

/** What a database's address must be like, for messages. */
const DATABASE_URL = 'the address of a PostgreSQL database, such as "postgres://user@host:5432/holdfast"'

export const DatabaseSettings = Schema.Struct({
  path: Schema.optionalKey(filled('a file\'s path, such as "./.holdfast/holdfast.db"')),
  retention: Schema.optionalKey(Durations.Limit),
  /** A password may stand in it. */
  url: Schema.optionalKey(
    checked((value) => isDatabaseUrl(value), "^\\s*[Pp][Oo][Ss][Tt][Gg][Rr][Ee][Ss](?:[Qq][Ll])?:", DATABASE_URL).pipe(
      Schema.RedactedFromValue
    )
  )
})

const RUNNER = 'a host and a port, such as "10.0.0.5:4748"'

const RUNNER_PATTERN = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/u

/** Each is one lock that its runner asks after every few seconds. */
const MOST_SHARDS = 10_000
const SHARDS = `an integer from 1 to ${MOST_SHARDS}`

export const ClusterSettings = Schema.Struct({
  runner: Schema.optionalKey(checked((value) => parseRunner(value) !== undefined, RUNNER_PATTERN.source, RUNNER)),
  shards: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${SHARDS}` }).check(
      Schema.isInt({ message: `Expected ${SHARDS}` }),
      Schema.isBetween({ minimum: 1, maximum: MOST_SHARDS }, { message: `Expected ${SHARDS}` })
    )
  )
})

/** Reads `host:port`; an IPv6 address stands in brackets. */
export const parseRunner = (text: string): { readonly host: string; readonly port: number } | undefined => {
  const [, bracketed, plain, port] = RUNNER_PATTERN.exec(text) ?? []
  const host = bracketed ?? plain
  return host === undefined || Number(port) < 1 || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/** The levels that a log may have, from the most lines to the fewest. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const

export const LogSettings = Schema.Struct({
  level: Schema.optionalKey(
    Schema.Literals(LOG_LEVELS).annotate({ message: 'Expected "debug", "info", "warn" or "error"' })
  )
})

export const GateSettings = Schema.Struct({
  enabled: Schema.optionalKey(Schema.Boolean.annotate({ message: "Expected true or false" }))
})

const atLeastOne = (expected: string) =>
  Schema.Number.annotate({ message: `Expected ${expected}` }).check(
    Schema.isInt({ message: `Expected ${expected}` }),
    Schema.isGreaterThanOrEqualTo(1, { message: `Expected ${expected}` })
  )

const LimitSettings = Schema.Struct({
  calls: Schema.optionalKey(atLeastOne("an integer of calls, 1 or more")),
  requestsPerMinute: Schema.optionalKey(atLeastOne("an integer of requests, 1 or more")),
  tokensPerMinute: Schema.optionalKey(atLeastOne("an integer of tokens, 1 or more"))
})

export const ProviderSettings = Schema.Struct({
  type: Schema.Literals(["openai-compatible", "anthropic", "simulated"]).annotate({
    message: 'Expected "openai-compatible", "anthropic" or "simulated"'
  }),
  baseUrl: Schema.optionalKey(BaseUrl),
  apiKeyEnv: Schema.optionalKey(
    Schema.Union([VariableName, Schema.Array(VariableName)]).annotate({
      message: "Expected the name of an environment variable, or a list of such names"
    })
  ),
  headers: Schema.optionalKey(Headers),
  body: Schema.optionalKey(Body),
  maxTokens: Schema.optionalKey(atLeastOne("an integer of tokens, 1 or more")),
  promptCaching: Schema.optionalKey(Schema.Boolean.annotate({ message: "Expected true or false" })),
  limits: Schema.optionalKey(LimitSettings)
})
export type ProviderSettings = typeof ProviderSettings.Type

/** What the endpoint of a collector must be like, for messages. */
export const OTLP_ENDPOINT =
  'an http or https address such as "http://127.0.0.1:4318", without a user and without a fragment'

/** What a webhook must be like, for messages. */
export const WEBHOOK = 'http or https address, such as "https://hooks.example.org/services/..."'

const BYTES = "an integer of 1000 or more"
const KEEP = "an integer from 0 to 1000"

const RetryLogSettings = Schema.Struct({
  path: Schema.optionalKey(filled('a file\'s path, such as "./retries.jsonl"')),
  maxBytes: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${BYTES}` }).check(
      Schema.isInt({ message: `Expected ${BYTES}` }),
      Schema.isGreaterThanOrEqualTo(1_000, { message: `Expected ${BYTES}` })
    )
  ),
  keep: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${KEEP}` }).check(
      Schema.isInt({ message: `Expected ${KEEP}` }),
      Schema.isBetween({ minimum: 0, maximum: 1_000 }, { message: `Expected ${KEEP}` })
    )
  )
})

export const TelemetrySettings = Schema.Struct({
  retryLog: Schema.optionalKey(Schema.Union([Schema.Literal(false), RetryLogSettings])),
  otlp: Schema.optionalKey(
    Schema.Struct({
      endpoint: Schema.optionalKey(checked(isBaseUrl, HTTP, OTLP_ENDPOINT)),
      headers: Schema.optionalKey(Headers)
    })
  ),
  notifications: Schema.optionalKey(
    Schema.Struct({
      after: Schema.optionalKey(Durations.NotNegative),
      /** Whoever has the address can post to it: a secret. */
      webhook: Schema.optionalKey(checked(isWebhook, HTTP, `an ${WEBHOOK}`).pipe(Schema.RedactedFromValue)),
      webhookEnv: Schema.optionalKey(VariableName),
      headers: Schema.optionalKey(Headers),
      command: Schema.optionalKey(
        Schema.NonEmptyArray(Schema.String).annotate({
          message: 'Expected a program and its arguments, such as ["notify", "--stdin"]'
        })
      ),
      state: Schema.optionalKey(filled('a file\'s path, such as "./incidents.json"'))
    })
  )
})
const EXECUTABLE = 'a program to start, such as "npx"; its arguments go into args'

/** With a user, or without http, nothing would be reached that way. */
const TOOLS_URL = 'an http or https address such as "http://localhost:3001/mcp", without a user and without a fragment'

/** Names of tools; `*` stands for anything. */
const ToolNames = Schema.Array(filled('a tool\'s name, or a pattern such as "read_*"'))

/** Below this not even an error fits. Above it an output would fill a model's context. */
export const MIN_OUTPUT_BYTES = 1_024
export const MAX_OUTPUT_BYTES = 1_048_576
const OUTPUT = `an integer of bytes from ${MIN_OUTPUT_BYTES} to ${MAX_OUTPUT_BYTES}`

export const ToolServerSettings = Schema.Struct({
  command: Schema.optionalKey(filled(EXECUTABLE)),
  args: Schema.optionalKey(Schema.Array(text("a string"))),
  env: Schema.optionalKey(
    named(VARIABLE_NAME, "the name of an environment variable", text("a string").pipe(Schema.RedactedFromValue))
  ),
  cwd: Schema.optionalKey(filled("a directory's path")),
  url: Schema.optionalKey(checked(isBaseUrl, HTTP, TOOLS_URL)),
  headers: Schema.optionalKey(named(HEADER_NAME, "a header: letters, digits and '-'", HeaderValue)),
  timeout: Schema.optionalKey(Durations.Positive),
  startTimeout: Schema.optionalKey(Durations.Positive),
  required: Schema.optionalKey(Schema.Boolean.annotate({ message: "Expected true or false" })),
  maxOutput: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${OUTPUT}` }).check(
      Schema.isInt({ message: `Expected ${OUTPUT}` }),
      Schema.isBetween({ minimum: MIN_OUTPUT_BYTES, maximum: MAX_OUTPUT_BYTES }, { message: `Expected ${OUTPUT}` })
    )
  ),
  idempotent: Schema.optionalKey(ToolNames),
  allow: Schema.optionalKey(ToolNames),
  deny: Schema.optionalKey(ToolNames)
})
export type ToolServerSettings = typeof ToolServerSettings.Type

/** It stands before a tool's name where two servers have a tool of one name, and providers allow 64 characters in all. */
const TOOL_SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/u

/** What a model can take, and what is added to its requests. */
export const ModelSettings = Schema.Struct({ ...Models.Capabilities.fields, body: Schema.optionalKey(Body) })
export type ModelSettings = typeof ModelSettings.Type

const MODEL = 'a provider and a model, such as "openai/gpt-5"'

export const Settings = Schema.Struct({
  /** For editors; read by nobody here. */
  $schema: Schema.optionalKey(text("a string")),
  server: Schema.optionalKey(ServerSettings),
  database: Schema.optionalKey(DatabaseSettings),
  cluster: Schema.optionalKey(ClusterSettings),
  providers: Schema.optionalKey(named(PROVIDER_NAME, "letters, digits, '.', '_' and '-'", ProviderSettings)),
  model: Schema.optionalKey(checked((value) => Target.parse(value) !== undefined, Target.PATTERN, MODEL)),
  models: Schema.optionalKey(
    Schema.Record(Schema.String, ModelSettings).check(
      Schema.makeFilter(
        (models) =>
          Object.keys(models)
            .filter((name) => Target.parse(name) === undefined)
            .map((name) => ({ path: [name], issue: `this name will not do; expected ${MODEL}.` })),
        { toJsonSchema: () => ({ propertyNames: { pattern: Target.PATTERN } }) }
      )
    )
  ),
  retry: Schema.optionalKey(Profile.RetrySettings),
  gate: Schema.optionalKey(GateSettings),
  tools: Schema.optionalKey(named(TOOL_SERVER_NAME, "at most 32 letters, digits, '_' and '-'", ToolServerSettings)),
  log: Schema.optionalKey(LogSettings),
  telemetry: Schema.optionalKey(TelemetrySettings)
})
export type Settings = typeof Settings.Type

/** Keys that need more than a default: they are read together with others, or with the environment. */
export interface Joined {
  readonly server: "token" | "tokenEnv"
  readonly database: "path" | "url"
  readonly cluster: "runner"
  readonly gate: never
  readonly log: never
}

/** The other keys of a section: what is written, or its default, is in force. */
export type Plain<Section extends keyof Joined> = Omit<Required<NonNullable<Settings[Section]>>, Joined[Section]>

/** What holds where a plain key is not set. A key that is missing here does not compile. */
export const DEFAULTS: { readonly [Section in keyof Joined]: Plain<Section> } = {
  server: { host: "127.0.0.1", port: 4747, hostnames: [] },
  // Until then a turn can be explained.
  database: { retention: Duration.days(30) },
  // Some dozen for each of more runners than there will be, so that they can be dealt out evenly.
  cluster: { shards: 300 },
  gate: { enabled: true },
  // One line for each turn that failed, and for each change of state of the service.
  log: { level: "info" }
}

/** An unknown key is an error, and all errors are told at once. */
export const PARSE_OPTIONS: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }

/** Later settings over earlier ones, key by key; `retry` primitive by primitive, a provider or a tool server as a whole. */
export const merge = (low: Settings, high: Settings): Settings => {
  // A token that stands higher replaces one below, in whichever of its two forms that was given.
  const { token: _token, tokenEnv: _tokenEnv, ...lowServer } = low.server ?? {}
  const isTokenAbove = high.server?.token !== undefined || high.server?.tokenEnv !== undefined
  return {
    ...low,
    ...high,
    server: { ...(isTokenAbove ? lowServer : low.server), ...high.server },
    database: { ...low.database, ...high.database },
    cluster: { ...low.cluster, ...high.cluster },
    gate: { ...low.gate, ...high.gate },
    providers: { ...low.providers, ...high.providers },
    retry: { ...low.retry, ...high.retry },
    tools: { ...low.tools, ...high.tools },
    log: { ...low.log, ...high.log },
    telemetry: { ...low.telemetry, ...high.telemetry }
  }
}

// --- internal

const isDatabaseUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== "" && url.pathname.length > 1
}
