/**
 * Declares every setting of `holdfast.config.json`: its type, default, variable and flag, whether it is secret, and a sentence.
 *
 * The file's schema for editors, docs/settings.md, the variables, the flags and the configuration in force are made from this. All keys
 * are optional, because the file, the environment and the command line are decoded separately before they are merged. `Resolve.ts`
 * checks relations between keys.
 */
import { Durations, Models, Prices, RetrySettings, Setting } from "@holdfast/policy"
import { DefaultAddress } from "@holdfast/wire"
import { Schema, type SchemaAST } from "effect"
import * as SpendLimits from "../limits/SpendLimits.ts"
import * as Types from "./SettingTypes.ts"

const { required, secret, setting } = Setting

const ServerSettings = Schema.Struct({
  host: setting(Types.filled('an address to listen on, such as "127.0.0.1"'), {
    doc: "address to listen on; any but a loopback address needs a token",
    default: DefaultAddress.HOST,
    env: "HOLDFAST_HOST",
    flag: "--host"
  }),
  port: setting(Types.integer(0, 65_535), {
    doc: "port from 0 to 65535; 0 takes any that is free, and the start prints which",
    default: DefaultAddress.PORT,
    env: "HOLDFAST_PORT",
    flag: "--port"
  }),
  hostnames: setting(
    Schema.Array(Types.matching(/^[A-Za-z0-9.-]+$/u, 'a host\'s name without a port, such as "holdfast.example.org"')),
    {
      doc: "list of further names, without ports, that clients reach the service by, such as that of a proxy before it; requests for other names are refused",
      default: []
    }
  ),
  allowedOrigins: setting(Schema.Array(Types.PageOrigin), {
    doc: "list of origins whose pages may call the service from a browser, such as `https://app.example.org`: scheme, host and port, without a path; pages of other origins are refused ([pages of your own](operations.md#pages-of-your-own))",
    default: []
  }),
  token: secret(Types.Secret, {
    doc: `what clients must send as \`Authorization: Bearer\`; ${Types.SHORTEST_TOKEN} characters at least`,
    env: "HOLDFAST_TOKEN"
  }),
  tokenEnv: secret(Types.VariableName, {
    doc: "the name of a variable that holds the token, so that it need not stand in the file; instead of `server.token`"
  }),
  // Above the limits of providers for one image; a request of three such files is near the limit of theirs, which is below the most here.
  maxFileBytes: setting(Types.bytesUpTo(100_000_000), {
    doc: "the most bytes of one file in a prompt, from 1024 to 100000000; a larger one is 413 `file-too-large`, with its place, its size and this limit",
    default: 10_485_760
  }),
  maxBodyBytes: setting(Types.bytesUpTo(200_000_000), {
    doc: "the most bytes of a request with a prompt, from 1024 to 200000000; a larger one is 413 `body-too-large`. A file takes a third more there than its bytes, because it is base64. Other requests have 1 MiB at most",
    default: 33_554_432
  })
})

const DatabaseSettings = Schema.Struct({
  path: setting(Types.filled('a file\'s path, such as "./.holdfast/holdfast.db"'), {
    doc: "SQLite file with conversations, messages and events, made where there is none; relative to the configuration file, or in the variable to the working directory; `:memory:` keeps nothing",
    default: "./.holdfast/holdfast.db",
    env: "HOLDFAST_DATABASE_PATH"
  }),
  retention: setting(Durations.Limit, {
    doc: 'how long a turn\'s journal, which serves to resume and explain it, is kept after its end; `"Infinity"` keeps it. History and events always stay',
    default: "30 days"
  }),
  deleteConversations: setting(
    Schema.Array(
      Schema.Struct({
        after: Durations.Limit,
        tag: Schema.optionalKey(
          Types.matching(/^[A-Za-z0-9_.:/@+-]{1,64}$/u, 'a tag of conversations, such as "nightly"')
        )
      })
    ),
    {
      doc: "conversations to delete whole, so long after the end of their newest turn: a list of `{after, tag?}`. A rule without `tag` means all. A conversation with a turn that has not ended stays. Rounds are at the start and once a day",
      default: []
    }
  ),
  url: secret(Types.DatabaseUrl, {
    doc: "PostgreSQL database to use instead, for several processes that share the work: `postgres://user:password@host:port/database`. The database must be there; its tables are made. The password counts as a secret",
    env: "HOLDFAST_DATABASE_URL"
  })
})

const ClusterSettings = Schema.Struct({
  runner: setting(Types.RunnerAddress, {
    doc: "`host:port` where the other runners reach this one, and where it listens for them; no two may have the same. These connections are neither encrypted nor protected: keep them in a network of their own",
    default: "127.0.0.1:4748",
    env: "HOLDFAST_CLUSTER_RUNNER",
    flag: "--runner"
  }),
  // A dozen or more per runner for more runners than a cluster will have. Each is a lock that its runner checks every few seconds.
  shards: setting(Types.integer(1, 10_000), {
    doc: "how many parts the conversations are dealt out in, from 1 to 10000; the same for all runners, and only changed while none runs",
    default: 300
  })
})

/** The log levels, from the most lines to the fewest. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const

const LogSettings = Schema.Struct({
  // One line per failed turn and per change of the service's state.
  level: setting(Schema.Literals(LOG_LEVELS).annotate({ message: 'Expected "debug", "info", "warn" or "error"' }), {
    doc: 'the least severe lines that are logged: `"debug"`, `"info"`, `"warn"` or `"error"`; `--log-level` overrides it',
    default: "info",
    env: "HOLDFAST_LOG_LEVEL"
  })
})

const GateSettings = Schema.Struct({
  enabled: setting(Types.Switch, {
    doc: "`false`: each turn keeps to its schedule, whatever other turns find. `providers.*.limits` still apply",
    default: true
  })
})

const GatewaySettings = Schema.Struct({
  // A conversation with images, as the providers take it. The body of a call is in memory while it waits.
  maxBodyBytes: setting(Types.bytesUpTo(1_073_741_824), {
    doc: "the most bytes of a call's body, from 1024 to 1073741824; a larger one is 413",
    default: 67_108_864
  })
})

/** Sections that are in force as they are written, with their defaults. A new one is an entry here, and its use. */
const PLAIN = {
  // Whether gates keep waiting turns from stampeding an endpoint (X5).
  gate: Schema.optionalKey(GateSettings),
  // Calls that pass through to a provider (X13).
  gateway: Schema.optionalKey(GatewaySettings),
  log: Schema.optionalKey(LogSettings)
}

/** The keys of requests that providers of one type alone have, or all. */
const REQUEST = {
  body: secret(Types.BodyFields, {
    doc: "[fields of every request](configuration.md#fields-of-requests): JSON that is merged into them"
  }),
  maxTokens: setting(Types.integerFrom(1, "tokens"), {
    doc: "`anthropic` only: the most tokens of an answer, which this API requires",
    unset: "4096 for Claude 3, 8192 for Claude 3.5, otherwise 32000"
  }),
  promptCaching: setting(Types.Switch, {
    doc: "`anthropic` only: mark the system prompt and the last message for the provider's cache",
    default: true
  })
}

/** An entry of `providers`. */
export const ProviderSettings = Schema.Struct({
  type: required(
    Schema.Literals(["openai-compatible", "anthropic", "openai-responses", "gemini", "ai-sdk", "simulated"]).annotate({
      message: 'Expected "openai-compatible", "anthropic", "openai-responses", "gemini", "ai-sdk" or "simulated"'
    }),
    {
      doc: "`openai-compatible` (chat completions), `anthropic` (messages), `openai-responses`, `gemini`, `ai-sdk` ([a package of the AI SDK](configuration.md#packages-of-the-ai-sdk)) or `simulated`"
    }
  ),
  package: setting(Types.filled('a package of the AI SDK, such as "@ai-sdk/google"'), {
    doc: "`ai-sdk` only: the package, such as `@ai-sdk/google`, or the path of a module, relative to the configuration file",
    unset: "required for `ai-sdk`"
  }),
  factory: setting(Types.filled('the name of an exported function, such as "createGoogleGenerativeAI"'), {
    doc: "`ai-sdk` only: the exported function that makes the provider",
    unset: "the only export whose name begins with `create`"
  }),
  options: secret(Types.Options, {
    doc: "`ai-sdk` only: what that function is called with, such as `region`; `${NAME}` stands for the variable of that name, at any depth, whose value is a secret"
  }),
  baseUrl: setting(Types.BaseUrl, {
    doc: "its address: the part before `/chat/completions`, `/v1/messages`, `/responses` or `/v1beta/models`; the values of its query count as secrets, but for `api-version`",
    unset:
      "that of the built-in provider of this name; for `anthropic`, `openai-responses` and `gemini` that of Anthropic, OpenAI and Google"
  }),
  apiKeyEnv: secret(
    Schema.Union([Types.VariableName, Schema.Array(Types.VariableName)]).annotate({
      message: "Expected the name of an environment variable, or a list of such names"
    }),
    {
      doc: "the name of the variable that holds its key, or a list of names, of which all that are set are its credentials, in order; never the key itself",
      unset: "that of the built-in provider, as long as there is no `baseUrl`; otherwise it needs no key"
    }
  ),
  headers: secret(Types.Headers, {
    doc: "sent with every request, over Holdfast's own; values count as secrets. `${NAME}` stands for the variable of that name, whose value is a secret too; a variable that is not set stops the start"
  }),
  ...REQUEST,
  limits: Schema.optionalKey(
    Schema.Struct({
      calls: setting(Types.integerFrom(1, "calls"), {
        doc: "calls at once ([limits](configuration.md#limits))",
        unset: "no limit"
      }),
      requestsPerMinute: setting(Types.integerFrom(1, "requests"), {
        doc: "calls that begin in any 60 seconds",
        unset: "no limit"
      }),
      tokensPerMinute: setting(Types.integerFrom(1, "tokens"), {
        doc: "tokens in any 60 seconds, input and output together",
        unset: "no limit"
      })
    })
  )
})
export type ProviderSettings = typeof ProviderSettings.Type

/** The keys of a provider's entry that are added to its requests as written. */
export type RequestSettings = Pick<ProviderSettings, keyof typeof REQUEST>

/** The capabilities of a model, and the additions to its requests. */
const ModelSettings = Schema.Struct({
  ...Models.Capabilities.fields,
  body: secret(Types.BodyFields, {
    doc: "[fields of its requests](configuration.md#fields-of-requests): JSON that is merged into them"
  })
})
export type ModelSettings = typeof ModelSettings.Type

const RetryLogSettings = Schema.Struct({
  path: setting(Types.filled('a file\'s path, such as "./retries.jsonl"'), {
    doc: "the file; relative to the configuration file",
    unset: "`retries.jsonl` beside the database"
  }),
  // Some 30,000 lines. With `keep` older files, 60 MB at most.
  maxBytes: setting(Types.integerFrom(1_000, "bytes"), {
    doc: "the size at which a new file begins; 1000 at least",
    default: 10_000_000
  }),
  keep: setting(Types.integer(0, 1_000), { doc: "how many older files stay beside it, from 0 to 1000", default: 5 })
})

const NotificationSettings = Schema.Struct({
  // A shorter outage is over before an operator can act.
  after: setting(Durations.NotNegative, {
    doc: "how long an endpoint that turns wait for must answer no turn before it is an incident",
    default: "5 minutes"
  }),
  webhook: secret(Types.Webhook, { doc: "address that notices are posted to; it counts as a secret" }),
  webhookEnv: secret(Types.VariableName, {
    doc: "the name of a variable that holds that address, so that it need not stand in the file"
  }),
  headers: secret(Types.Headers, { doc: "sent with every notice; values count as secrets" }),
  command: secret(
    Schema.NonEmptyArray(Schema.String).annotate({
      message: 'Expected a program and its arguments, such as ["notify", "--stdin"]'
    }),
    { doc: "program and arguments, as a list, that get each notice on standard input; no shell" }
  ),
  format: setting(Types.NoticeFormatName, {
    doc: 'how the webhook gets a notice: `"json"`, `"slack"`, `"ntfy"`, `"email"` or `"template"` ([formats](telemetry.md#formats))',
    default: "json"
  }),
  commandFormat: setting(Types.NoticeFormatName, { doc: "how the command gets a notice", default: "json" }),
  email: Schema.optionalKey(
    Schema.Struct({
      from: required(Types.EmailAddress, { doc: 'sender of notices in the format `"email"`', unset: "none" }),
      to: required(Types.EmailAddress, { doc: 'recipient of notices in the format `"email"`', unset: "none" })
    })
  ),
  template: setting(Types.NoticeTemplate, { doc: 'text of notices in the format `"template"`' }),
  report: setting(Types.TimeOfDay, {
    doc: 'time of day at which the [report](report.md) of a day is sent to both, such as `"07:00"`, in the time zone of the service'
  }),
  quiet: Schema.optionalKey(
    Schema.Struct({
      from: required(Types.TimeOfDay, {
        doc: "time of day from which notices of incidents and failed turns wait",
        unset: "none"
      }),
      to: required(Types.TimeOfDay, { doc: "time of day at which they are sent", unset: "none" })
    })
  )
})

const TelemetrySettings = Schema.Struct({
  retryLog: setting(Schema.Union([Schema.Literal(false), RetryLogSettings]), {
    doc: "every retry as a line of JSON; `false` switches it off",
    unset: "on, but for a database in memory or shared by `database.url`, where it needs a `path`"
  }),
  otlp: Schema.optionalKey(
    Schema.Struct({
      endpoint: setting(Types.OtlpEndpoint, {
        doc: "an OpenTelemetry collector that traces are posted to, at `/v1/traces` below it",
        unset: "that of the variables, or none"
      }),
      headers: secret(Types.Headers, {
        doc: "sent with every batch; values count as secrets",
        unset: "those of the variables"
      })
    })
  ),
  notifications: Schema.optionalKey(NotificationSettings)
})

const WebhookSettings = Schema.Struct({
  secret: secret(Types.Secret, {
    doc: 'signs each message: `whsec_` and base64, as the libraries of Standard Webhooks take it, or any 16 characters or more, which are the key as they stand (`format: "raw"` in such a library). Without it no client can name a receiver'
  }),
  secretEnv: secret(Types.VariableName, { doc: "the name of a variable that holds that secret" }),
  turnEnd: secret(Types.Webhook, {
    doc: "address that gets the end of every turn; it counts as a secret, and needs `webhooks.secret`"
  })
})

/** An entry of `tools`. */
export const ToolServerSettings = Schema.Struct({
  command: secret(Types.filled('a program to start, such as "npx"; its arguments go into args'), {
    doc: "the program to start, found by `PATH` as in a shell. It and all processes that it starts end with the service",
    unset: "required, or `url`"
  }),
  args: setting(Schema.Array(Types.text("a string")), {
    doc: "its arguments. Other users of the machine can see them: keys belong into `env`. Where the configuration is shown, values of arguments such as `--token` are left out",
    default: [],
    isSecret: true
  }),
  env: secret(Types.Variables, {
    doc: "variables for it. It has these, `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER`, and none of Holdfast's own keys"
  }),
  cwd: setting(Types.filled("a directory's path"), {
    doc: "the directory that it is started in, relative to the configuration file",
    unset: "the service's"
  }),
  url: secret(Types.ToolsUrl, {
    doc: "where it is: `http` or `https`, with the path; the values of its query count as secrets",
    unset: "required, or `command`"
  }),
  headers: secret(Types.Headers, { doc: "sent with every request; values count as secrets" }),
  // Most tools are faster, and a person waits this long.
  timeout: setting(Durations.Positive, { doc: "how long a call may take", default: "60 seconds" }),
  // The first start by `npx` downloads the server.
  startTimeout: setting(Durations.Positive, {
    doc: "how long it may take to start and to list its tools",
    default: "30 seconds"
  }),
  required: setting(Types.Switch, {
    doc: "`true`: turns do not run without its tools. A turn that begins while it is down is held until it is up, for 10 minutes at most, and then fails; otherwise a turn runs without them, and reports that ([operations](operations.md#tools))",
    default: false
  }),
  // Some 16,000 tokens. Below the least not even an error fits; above the most one output would fill a model's context.
  maxOutput: setting(Types.bytesUpTo(1_048_576), {
    doc: "how much of an output a model gets, images and files not counted (a message of a server has 8 MiB at most), in bytes from 1024 to 1048576. A cut output is marked",
    default: 65_536
  }),
  idempotent: setting(Types.ToolNames, {
    doc: "list of tools for which a second run has no further effect: a call that was under way when Holdfast died is made again. A call of any other tool is not; the model gets a result with unknown outcome",
    default: []
  }),
  confirm: setting(Types.ToolNames, {
    doc: "list of tools that run once a person has approved the call ([how](api.md#tool-calls-that-need-approval))",
    default: []
  }),
  // A question at night can be answered in the morning.
  answerWithin: setting(Durations.Positive, {
    doc: "the time for an answer about such a call; after it the call counts as refused",
    default: "8 hours"
  }),
  allow: setting(Types.ToolNames, { doc: "list of tools that are offered; without it all", unset: "all" }),
  deny: setting(Types.ToolNames, {
    doc: "list of tools that are not offered, also where `allow` has them",
    default: []
  })
})
export type ToolServerSettings = typeof ToolServerSettings.Type

/** The whole file. */
export const Settings = Schema.Struct({
  $schema: setting(Types.text("a string"), { doc: "for your editor; Holdfast does not read it" }),
  server: Schema.optionalKey(ServerSettings),
  database: Schema.optionalKey(DatabaseSettings),
  cluster: Schema.optionalKey(ClusterSettings),
  providers: Schema.optionalKey(
    Types.named("^[A-Za-z0-9][A-Za-z0-9._-]*$", "letters, digits, '.', '_' and '-'", ProviderSettings)
  ),
  model: setting(Types.Model, {
    doc: "what answers when a conversation names no model, as `provider/model`; the flag is one of `run`",
    unset: "[by the keys in the environment](configuration.md#model)",
    env: "HOLDFAST_MODEL",
    flag: "--model"
  }),
  models: Schema.optionalKey(Types.byModel(ModelSettings)),
  prices: Schema.optionalKey(Types.byModel(Prices.Price)),
  spend: setting(Schema.Array(SpendLimits.SpendLimit), {
    doc: "[limits](configuration.md#spend): each with `per`, `money` or `tokens` or both, and `then`; perhaps `tag` and `answerWithin`"
  }),
  systemPrompts: setting(
    Types.named("^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", "at most 64 letters, digits, '_' and '-'", Types.text("a text")),
    { doc: "texts by name; a name has at most 64 letters, digits, `_` and `-`" }
  ),
  retry: Schema.optionalKey(RetrySettings.RetrySettings),
  ...PLAIN,
  // A server's name is a prefix of a tool's name if two servers have a tool of that name; providers allow 64 characters in total.
  tools: Schema.optionalKey(
    Types.named("^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$", "at most 32 letters, digits, '_' and '-'", ToolServerSettings)
  ),
  telemetry: Schema.optionalKey(TelemetrySettings),
  webhooks: Schema.optionalKey(WebhookSettings)
})
export type Settings = typeof Settings.Type

/** All settings, by key. */
export const ROWS: ReadonlyMap<string, Setting.Row> = Setting.rows(Settings)

/** The values without a file, by section and for each entry. */
export const DEFAULTS = {
  server: Setting.defaults(ServerSettings),
  database: Setting.defaults(DatabaseSettings),
  cluster: Setting.defaults(ClusterSettings),
  tool: Setting.defaults(ToolServerSettings),
  retryLog: Setting.defaults(RetryLogSettings),
  notifications: Setting.defaults(NotificationSettings)
}
/** The values in force of settings with a default; `Config` has them as they are. */
export type DefaultSettings = typeof DEFAULTS

/** The values in force of the plain sections. */
export type Plain = {
  readonly [Name in keyof typeof PLAIN]: Setting.SettingDefaults<(typeof PLAIN)[Name]["schema"]["fields"]>
}

/** The names of the plain sections. */
export const plainNames: ReadonlyArray<keyof Plain> = Object.keys(PLAIN) as Array<keyof Plain>

/** The plain sections in force. */
export const plain = (written: Pick<Settings, keyof Plain>): Plain =>
  Object.fromEntries(
    plainNames.map((name) => [
      name,
      { ...Setting.defaults<Schema.Struct.Fields>(PLAIN[name].schema), ...written[name] }
    ])
  ) as Plain // `Object.fromEntries` forgets which key has which type.

/** An unknown key is an error, and all errors are reported at once. */
export const PARSE_OPTIONS: SchemaAST.ParseOptions = { onExcessProperty: "error", errors: "all" }
