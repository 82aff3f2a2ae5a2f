/**
 * Defines the schema of `holdfast.config.json`.
 *
 * Every key is optional, because this schema decodes the file, the environment and the command line separately before they are merged.
 * `Resolve.ts` checks relations between keys. docs/configuration.md describes each key with its default and unit; a test compares it
 * with this schema.
 */
import { Durations, Models, Prices, RetrySettings } from "@holdfast/policy"
import * as SpendLimits from "../../spend/limits/SpendLimits.ts"
import { DefaultAddress, Target } from "@holdfast/wire"
import { Duration, Schema, type SchemaAST } from "effect"
import * as NoticeFormats from "./NoticeFormats.ts"
import { Body } from "./RequestSettings.ts"

/** Characters. A shorter token could be guessed, and could not be redacted without false alarms. */
export const SHORTEST_TOKEN = 16

const text = (expected: string) => Schema.String.annotate({ message: `Expected ${expected}` })

const filled = (expected: string) => matching(/\S/u, expected)

const matching = (pattern: RegExp, expected: string) =>
  text(expected).check(Schema.isPattern(pattern, { message: `Expected ${expected}` }))

/** A text that code checks; `pattern` is the part of the check for editors. */
const checked = (isGood: (value: string) => boolean, pattern: string, expected: string) =>
  text(expected).check(
    Schema.makeFilter((value) => isGood(value) || `Expected ${expected}`, { toJsonSchema: () => [{ pattern }, true] })
  )

/** A secret is wrapped when it is read. Only this decoder has its plain text. */
const Secret = text(`a string of at least ${SHORTEST_TOKEN} characters`)
  .check(
    Schema.isMinLength(SHORTEST_TOKEN, {
      message: `Expected a string of at least ${SHORTEST_TOKEN} characters`,
      // A header carries the token, so it is ASCII, and a code point is a character.
      toJsonSchema: () => ({ minLength: SHORTEST_TOKEN })
    })
  )
  .pipe(Schema.RedactedFromValue)

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u

const VariableName = matching(VARIABLE_NAME, "the name of an environment variable (not the key itself)")

/** The value of a header (RFC 9110, section 5.5): visible characters and blanks. A line break would start another header. */
export const HEADER_VALUE = /^[\x20-\x7e]*$/u

const HeaderValue = matching(HEADER_VALUE, "a header's value: printable ASCII on one line").pipe(
  Schema.RedactedFromValue
)

/** Names whose values are taken for secrets, of variables and of options. */
export const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|pat$/i

/** The name of a header (RFC 9110, section 5.6.2). */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/u

/** The name of a provider, which is the part of `provider/model` before the first `/`. */
const PROVIDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/u

/** A record with a check of each key, under the key's own path. */
const named = <V extends Schema.Constraint>(pattern: RegExp, expected: string, value: V) =>
  Schema.Record(Schema.String, value).check(
    Schema.makeFilter(
      (record) =>
        Object.keys(record)
          .filter((name) => !pattern.test(name))
          .map((name) => ({ path: [name], issue: `this name is not valid; expected ${expected}.` })),
      { toJsonSchema: () => ({ propertyNames: { pattern: pattern.source } }) }
    )
  )

const Headers = named(HEADER_NAME, "a header: letters, digits and '-'", HeaderValue)

/** The expectation of an address, for messages. */
export const BASE_URL =
  'an http or https address such as "https://api.openai.com/v1", without a user and without a fragment'

/** Whether a text is an http or https address without a user and without a fragment. */
export const isBaseUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return isWebhook(text) && url?.username === "" && url.password === "" && url.hash === ""
}

/** Whether a text is an http or https address, which a webhook may be. */
export const isWebhook = (text: string): boolean => {
  const protocol = URL.parse(text)?.protocol
  return protocol === "https:" || protocol === "http:"
}

/** The beginning of addresses, in upper or lower case; `URL` ignores blanks before it. */
const HTTP = "^\\s*[Hh][Tt][Tt][Pp][Ss]?:"

/** The address of a provider. */
export const BaseUrl = checked(isBaseUrl, HTTP, BASE_URL)

const PORT = "an integer from 0 to 65535"

/** No provider takes a larger request, and a text of this length can still be handled as one. */
export const MOST_FILE_BYTES = 100_000_000
const MOST_BODY_BYTES = 200_000_000

const bytesUpTo = (most: number) => {
  const message = `Expected an integer of bytes from 1024 to ${most}`
  return Schema.Number.annotate({ message }).check(
    Schema.isInt({ message }),
    Schema.isBetween({ minimum: 1_024, maximum: most }, { message })
  )
}

const ORIGIN =
  'the origin of pages, such as "https://app.example.org": scheme, host and port as a browser sends them, without a path and without *'

const ORIGIN_PATTERN = "^[a-z][a-z0-9+.-]*://[^/\\s*?#@]+$"

/** Pages of an app may have a scheme of their own. */
const isOrigin = (text: string): boolean =>
  new RegExp(ORIGIN_PATTERN, "u").test(text) && (!/^https?:/.test(text) || URL.parse(text)?.origin === text)

const ServerSettings = Schema.Struct({
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
  /** Pages that may call the service, besides its own. */
  allowedOrigins: Schema.optionalKey(Schema.Array(checked(isOrigin, ORIGIN_PATTERN, ORIGIN))),
  token: Schema.optionalKey(Secret),
  tokenEnv: Schema.optionalKey(VariableName),
  /** The most bytes of a file in a prompt. */
  maxFileBytes: Schema.optionalKey(bytesUpTo(MOST_FILE_BYTES)),
  /** The most bytes of a request with a prompt, files as base64 included. */
  maxBodyBytes: Schema.optionalKey(bytesUpTo(MOST_BODY_BYTES))
})

/** The expectation of a database's address, for messages. */
const DATABASE_URL = 'the address of a PostgreSQL database, such as "postgres://user@host:5432/holdfast"'

const DatabaseSettings = Schema.Struct({
  path: Schema.optionalKey(filled('a file\'s path, such as "./.holdfast/holdfast.db"')),
  retention: Schema.optionalKey(Durations.Limit),
  deleteConversations: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        after: Durations.Limit,
        tag: Schema.optionalKey(matching(/^[A-Za-z0-9_.:/@+-]{1,64}$/u, 'a tag of conversations, such as "nightly"'))
      })
    )
  ),
  /** It may contain a password. */
  url: Schema.optionalKey(
    checked((value) => isDatabaseUrl(value), "^\\s*[Pp][Oo][Ss][Tt][Gg][Rr][Ee][Ss](?:[Qq][Ll])?:", DATABASE_URL).pipe(
      Schema.RedactedFromValue
    )
  )
})

const RUNNER = 'a host and a port, such as "10.0.0.5:4748"'

const RUNNER_PATTERN = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/u

/** The most shards: each is a lock that its runner checks every few seconds. */
const MOST_SHARDS = 10_000
const SHARDS = `an integer from 1 to ${MOST_SHARDS}`

const ClusterSettings = Schema.Struct({
  runner: Schema.optionalKey(checked((value) => parseRunner(value) !== undefined, RUNNER_PATTERN.source, RUNNER)),
  shards: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${SHARDS}` }).check(
      Schema.isInt({ message: `Expected ${SHARDS}` }),
      Schema.isBetween({ minimum: 1, maximum: MOST_SHARDS }, { message: `Expected ${SHARDS}` })
    )
  )
})

/** Reads `host:port`; an IPv6 address is in brackets. */
export const parseRunner = (text: string): { readonly host: string; readonly port: number } | undefined => {
  const [, bracketed, plain, port] = RUNNER_PATTERN.exec(text) ?? []
  const host = bracketed ?? plain
  return host === undefined || Number(port) < 1 || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}

/** The log levels, from the most lines to the fewest. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const

const LogSettings = Schema.Struct({
  level: Schema.optionalKey(
    Schema.Literals(LOG_LEVELS).annotate({ message: 'Expected "debug", "info", "warn" or "error"' })
  )
})

const GateSettings = Schema.Struct({
  enabled: Schema.optionalKey(Schema.Boolean.annotate({ message: "Expected true or false" }))
})

/** The most bytes of a call through the gateway that may be configured: its body is in memory while it waits. */
const MOST_GATEWAY_BYTES = 1_073_741_824

const GatewaySettings = Schema.Struct({
  maxBodyBytes: Schema.optionalKey(bytesUpTo(MOST_GATEWAY_BYTES))
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

/** Arguments of a function of the AI SDK. They may contain keys. */
const Options = Schema.Record(Schema.String, Schema.Json)
  .annotate({ message: 'Expected an object of options, such as { "region": "eu-central-1" }' })
  .pipe(Schema.RedactedFromValue)

/** An entry of `providers`. */
export const ProviderSettings = Schema.Struct({
  type: Schema.Literals([
    "openai-compatible",
    "anthropic",
    "openai-responses",
    "gemini",
    "ai-sdk",
    "simulated"
  ]).annotate({
    message: 'Expected "openai-compatible", "anthropic", "openai-responses", "gemini", "ai-sdk" or "simulated"'
  }),
  /** AI SDK: the package, or a module of the operator by its path. */
  package: Schema.optionalKey(filled('a package of the AI SDK, such as "@ai-sdk/google"')),
  /** AI SDK: the export of the package that makes the provider. */
  factory: Schema.optionalKey(filled('the name of an exported function, such as "createGoogleGenerativeAI"')),
  /** AI SDK: what the factory is called with. */
  options: Schema.optionalKey(Options),
  baseUrl: Schema.optionalKey(BaseUrl),
  apiKeyEnv: Schema.optionalKey(
    Schema.Union([VariableName, Schema.Array(VariableName)]).annotate({
      message: "Expected the name of an environment variable, or a list of such names"
    })
  ),
  headers: Schema.optionalKey(Headers),
  /** Merged into every request body. */
  body: Schema.optionalKey(Body),
  /** Anthropic: the most tokens of an answer. */
  maxTokens: Schema.optionalKey(atLeastOne("an integer of tokens, 1 or more")),
  /** Anthropic: whether the prompt is marked for the provider's cache. */
  promptCaching: Schema.optionalKey(Schema.Boolean.annotate({ message: "Expected true or false" })),
  limits: Schema.optionalKey(LimitSettings)
})
export type ProviderSettings = typeof ProviderSettings.Type

/** The expectation of a collector's endpoint, for messages. */
export const OTLP_ENDPOINT =
  'an http or https address such as "http://127.0.0.1:4318", without a user and without a fragment'

/** The expectation of a webhook, for messages. */
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
  /** The number of older files. */
  keep: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${KEEP}` }).check(
      Schema.isInt({ message: `Expected ${KEEP}` }),
      Schema.isBetween({ minimum: 0, maximum: 1_000 }, { message: `Expected ${KEEP}` })
    )
  )
})

/** A time of day of this machine's time zone. */
const TimeOfDay = matching(/^(?:[01]\d|2[0-3]):[0-5]\d$/u, 'a time of day, such as "07:00"')

const TelemetrySettings = Schema.Struct({
  retryLog: Schema.optionalKey(Schema.Union([Schema.Literal(false), RetryLogSettings])),
  otlp: Schema.optionalKey(
    Schema.Struct({
      endpoint: Schema.optionalKey(checked(isBaseUrl, HTTP, OTLP_ENDPOINT)),
      headers: Schema.optionalKey(Headers)
    })
  ),
  notifications: Schema.optionalKey(
    Schema.Struct({
      /** How long an endpoint must have answered no turn before it is an incident. */
      after: Schema.optionalKey(Durations.NotNegative),
      /** A secret: every client with the address can post to it. */
      webhook: Schema.optionalKey(checked(isWebhook, HTTP, `an ${WEBHOOK}`).pipe(Schema.RedactedFromValue)),
      webhookEnv: Schema.optionalKey(VariableName),
      headers: Schema.optionalKey(Headers),
      command: Schema.optionalKey(
        Schema.NonEmptyArray(Schema.String).annotate({
          message: 'Expected a program and its arguments, such as ["notify", "--stdin"]'
        })
      ),
      /** How the webhook gets a notice. */
      format: Schema.optionalKey(NoticeFormats.FormatName),
      /** How the command gets a notice. */
      commandFormat: Schema.optionalKey(NoticeFormats.FormatName),
      email: Schema.optionalKey(NoticeFormats.Email),
      template: Schema.optionalKey(NoticeFormats.Template),
      /** When the report of the day is sent. */
      report: Schema.optionalKey(TimeOfDay),
      /** When no notice of an incident or of failed turns is sent. */
      quiet: Schema.optionalKey(Schema.Struct({ from: TimeOfDay, to: TimeOfDay }))
    })
  )
})

/** Messages to receivers of turns' ends. */
const WebhookSettings = Schema.Struct({
  /** Signs every message; a client may name a receiver only if there is one. */
  secret: Schema.optionalKey(Secret),
  secretEnv: Schema.optionalKey(VariableName),
  /** Gets the end of every turn. A secret: every client with the address can post to it. */
  turnEnd: Schema.optionalKey(checked(isWebhook, HTTP, `an ${WEBHOOK}`).pipe(Schema.RedactedFromValue))
})

const EXECUTABLE = 'a program to start, such as "npx"; its arguments go into args'

/** A user in the address, or another scheme, would not work. */
const TOOLS_URL = 'an http or https address such as "http://localhost:3001/mcp", without a user and without a fragment'

/** Names of tools; `*` matches any text. */
const ToolNames = Schema.Array(filled('a tool\'s name, or a pattern such as "read_*"'))

/** The least `maxOutput`: below this not even an error fits. */
export const MIN_OUTPUT_BYTES = 1_024
/** The largest `maxOutput`: above this one output would fill a model's context. */
export const MAX_OUTPUT_BYTES = 1_048_576
const OUTPUT = `an integer of bytes from ${MIN_OUTPUT_BYTES} to ${MAX_OUTPUT_BYTES}`

/** An entry of `tools`. */
export const ToolServerSettings = Schema.Struct({
  command: Schema.optionalKey(filled(EXECUTABLE)),
  args: Schema.optionalKey(Schema.Array(text("a string"))),
  env: Schema.optionalKey(
    named(VARIABLE_NAME, "the name of an environment variable", text("a string").pipe(Schema.RedactedFromValue))
  ),
  cwd: Schema.optionalKey(filled("a directory's path")),
  url: Schema.optionalKey(checked(isBaseUrl, HTTP, TOOLS_URL)),
  headers: Schema.optionalKey(named(HEADER_NAME, "a header: letters, digits and '-'", HeaderValue)),
  /** How long a call may take. */
  timeout: Schema.optionalKey(Durations.Positive),
  /** How long it may take from the start to the list of tools. */
  startTimeout: Schema.optionalKey(Durations.Positive),
  required: Schema.optionalKey(Schema.Boolean.annotate({ message: "Expected true or false" })),
  /** The most bytes of an output that the model gets. */
  maxOutput: Schema.optionalKey(
    Schema.Number.annotate({ message: `Expected ${OUTPUT}` }).check(
      Schema.isInt({ message: `Expected ${OUTPUT}` }),
      Schema.isBetween({ minimum: MIN_OUTPUT_BYTES, maximum: MAX_OUTPUT_BYTES }, { message: `Expected ${OUTPUT}` })
    )
  ),
  /** These tools run again after a crash (X8). */
  idempotent: Schema.optionalKey(ToolNames),
  /** A person has to approve each call of these tools. */
  confirm: Schema.optionalKey(ToolNames),
  /** The time for an answer; after it the call counts as refused. */
  answerWithin: Schema.optionalKey(Durations.Positive),
  allow: Schema.optionalKey(ToolNames),
  /** Tools that are not offered, even if `allow` lists them. */
  deny: Schema.optionalKey(ToolNames)
})
export type ToolServerSettings = typeof ToolServerSettings.Type

/** The server's name is a prefix of a tool's name if two servers have a tool of that name; providers allow 64 characters in total. */
const TOOL_SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/u

const SYSTEM_PROMPT_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/u

/** The capabilities of a model, and the additions to its requests. */
export const ModelSettings = Schema.Struct({ ...Models.Capabilities.fields, body: Schema.optionalKey(Body) })
export type ModelSettings = typeof ModelSettings.Type

const MODEL = 'a provider and a model, such as "openai/gpt-5"'

/** A record by `provider/model`. */
const byModel = <V extends Schema.Constraint>(value: V) =>
  Schema.Record(Schema.String, value).check(
    Schema.makeFilter(
      (entries) =>
        Object.keys(entries)
          .filter((name) => Target.parse(name) === undefined)
          .map((name) => ({ path: [name], issue: `this name is not valid; expected ${MODEL}.` })),
      { toJsonSchema: () => ({ propertyNames: { pattern: Target.PATTERN } }) }
    )
  )

/** The whole file. */
export const Settings = Schema.Struct({
  /** The address of the schema, for editors. Holdfast ignores it. */
  $schema: Schema.optionalKey(text("a string")),
  server: Schema.optionalKey(ServerSettings),
  database: Schema.optionalKey(DatabaseSettings),
  cluster: Schema.optionalKey(ClusterSettings),
  providers: Schema.optionalKey(named(PROVIDER_NAME, "letters, digits, '.', '_' and '-'", ProviderSettings)),
  model: Schema.optionalKey(checked((value) => Target.parse(value) !== undefined, Target.PATTERN, MODEL)),
  models: Schema.optionalKey(byModel(ModelSettings)),
  /** US dollars per million tokens. */
  prices: Schema.optionalKey(byModel(Prices.Price)),
  /** What may be spent a day. */
  spend: Schema.optionalKey(Schema.Array(SpendLimits.SpendLimit)),
  /** System prompts that conversations may name. */
  systemPrompts: Schema.optionalKey(
    named(SYSTEM_PROMPT_NAME, "at most 64 letters, digits, '_' and '-'", text("a text"))
  ),
  retry: Schema.optionalKey(RetrySettings.RetrySettings),
  gate: Schema.optionalKey(GateSettings),
  gateway: Schema.optionalKey(GatewaySettings),
  tools: Schema.optionalKey(named(TOOL_SERVER_NAME, "at most 32 letters, digits, '_' and '-'", ToolServerSettings)),
  log: Schema.optionalKey(LogSettings),
  telemetry: Schema.optionalKey(TelemetrySettings),
  webhooks: Schema.optionalKey(WebhookSettings)
})
export type Settings = typeof Settings.Type

/** Keys that need more than a default: they are resolved together with other keys or with the environment. */
interface Joined {
  readonly server: "token" | "tokenEnv"
  readonly database: "path" | "url"
  readonly cluster: "runner"
  readonly gate: never
  readonly gateway: never
  readonly log: never
}

/** The other keys of a section: the written value or the default is in force. */
export type Plain<Section extends keyof Joined> = Omit<Required<NonNullable<Settings[Section]>>, Joined[Section]>

/** The keys of a tool server's entry that are in force as written, or by their default. */
export type PlainTool = Required<
  Omit<ToolServerSettings, "command" | "args" | "env" | "cwd" | "url" | "headers" | "required" | "allow">
>

/** The keys of a provider's entry that are added to its requests as written. */
export type PlainRequest = Omit<
  ProviderSettings,
  "type" | "baseUrl" | "apiKeyEnv" | "headers" | "limits" | "package" | "factory" | "options"
>

type TelemetrySection = NonNullable<Settings["telemetry"]>

/** The keys of the retry log that have a default; its path is resolved together with the database's. */
export type PlainRetryLog = Omit<Required<Exclude<TelemetrySection["retryLog"], false | undefined>>, "path">

/** The keys of notifications that have a default; the others are resolved together or with the environment. */
export type PlainNotifications = Required<
  Omit<
    NonNullable<TelemetrySection["notifications"]>,
    | "webhook"
    | "webhookEnv"
    | "headers"
    | "command"
    | "report"
    | "quiet"
    | "format"
    | "commandFormat"
    | "email"
    | "template"
  >
>

/** The defaults of plain keys. A key that is missing here does not compile. */
export const DEFAULTS: { readonly [Section in keyof Joined]: Plain<Section> } = {
  server: {
    host: DefaultAddress.HOST,
    port: DefaultAddress.PORT,
    hostnames: [],
    allowedOrigins: [],
    // Above the limits of providers for one image; a request of three such files is near the limit of theirs.
    maxFileBytes: 10_485_760,
    maxBodyBytes: 33_554_432
  },
  // A turn can be explained for this long.
  database: { retention: Duration.days(30), deleteConversations: [] },
  // A dozen or more per runner for more runners than a cluster will have, so the shards can be divided evenly.
  cluster: { shards: 300 },
  gate: { enabled: true },
  // A conversation with images, as the providers take it.
  gateway: { maxBodyBytes: 67_108_864 },
  // One line per failed turn and per change of the service's state.
  log: { level: "info" }
}

/** An unknown key is an error, and all errors are reported at once. */
export const PARSE_OPTIONS: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }

/** Merges settings: `high` overrides `low` key by key; `retry` primitive by primitive, a provider or a tool server as a whole. */
export const merge = (low: Settings, high: Settings): Settings => {
  // A token of `high` replaces the one of `low`, in either of its two forms.
  const { token: _token, tokenEnv: _tokenEnv, ...lowServer } = low.server ?? {}
  const isTokenAbove = high.server?.token !== undefined || high.server?.tokenEnv !== undefined
  return {
    ...low,
    ...high,
    server: { ...(isTokenAbove ? lowServer : low.server), ...high.server },
    database: { ...low.database, ...high.database },
    cluster: { ...low.cluster, ...high.cluster },
    gate: { ...low.gate, ...high.gate },
    gateway: { ...low.gateway, ...high.gateway },
    providers: { ...low.providers, ...high.providers },
    prices: { ...low.prices, ...high.prices },
    systemPrompts: { ...low.systemPrompts, ...high.systemPrompts },
    retry: { ...low.retry, ...high.retry },
    tools: { ...low.tools, ...high.tools },
    log: { ...low.log, ...high.log },
    telemetry: { ...low.telemetry, ...high.telemetry },
    webhooks: { ...low.webhooks, ...high.webhooks }
  }
}

// --- internal

const isDatabaseUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== "" && url.pathname.length > 1
}
