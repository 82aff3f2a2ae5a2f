/**
 * The clients that `holdfast connect` knows: how each is given a base URL, and where it keeps that.
 *
 * A client's change is a line here.
 */
import { Schema } from "effect"
import type { Place } from "./ClientFile.ts"

/** A variable that a client has beside its base URL. */
export interface Variable {
  readonly name: string
  readonly value: string
  /** Only where calls go on to this origin. */
  readonly origin?: string
}

/** A client. */
export interface Client {
  readonly name: string
  /** The provider that it calls, unless another one is named. */
  readonly provider: string
  /** The file of its login, and the provider that a login calls instead; `undefined`: the one above. */
  readonly login?: { readonly file: string; readonly provider: (login: unknown) => string | undefined }
  /** The formats that it can call; absent: that of the provider that is named. */
  readonly formats?: ReadonlyArray<string>
  /** Variables beside the base URL, in the same object of its configuration. */
  readonly variables?: ReadonlyArray<Variable>
  /** What it expects at the end of its base URL. */
  readonly path?: string
  /** The line that starts it with a base URL, in a shell; absent: only its own configuration has one. */
  readonly line?: (url: string, provider: string) => string
  /** Where its own configuration has the base URL; absent: it has none. */
  readonly place?: (provider: string) => Place
  /** The command that adds a provider to its configuration, which must have it before its base URL can be set. */
  readonly addsProvider?: (provider: string) => string
}

/** Whether a login of Codex is one of ChatGPT, and no key. Older versions have no `auth_mode`. */
const isOfPlan = Schema.is(
  Schema.Union([
    Schema.Struct({ auth_mode: Schema.Literal("chatgpt") }),
    Schema.Struct({
      auth_mode: Schema.optionalKey(Schema.Undefined),
      OPENAI_API_KEY: Schema.optionalKey(Schema.Null),
      tokens: Schema.Struct({ access_token: Schema.String })
    })
  ])
)

const OPENAI = ["openai-compatible", "openai-responses"]

/** All clients. */
export const table: ReadonlyArray<Client> = [
  {
    name: "claude",
    provider: "anthropic",
    formats: ["anthropic"],
    variables: [
      // Without it Claude Code leaves out prompt-cache scopes, betas and fields of its requests behind another address.
      { name: "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL", value: "1", origin: "https://api.anthropic.com" },
      // `claude -p` ends subagents in the background after 10 minutes otherwise.
      { name: "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", value: "0" }
    ],
    line: (url) => `ANTHROPIC_BASE_URL=${url} claude`,
    place: () => ({ file: ".claude/settings.json", format: "json", key: ["env", "ANTHROPIC_BASE_URL"] })
  },
  {
    name: "codex",
    provider: "openai",
    login: { file: ".codex/auth.json", provider: (login) => (isOfPlan(login) ? "chatgpt" : undefined) },
    formats: OPENAI,
    line: (url) => `codex -c openai_base_url=${url}`,
    place: () => ({ file: ".codex/config.toml", format: "toml", key: ["openai_base_url"] })
  },
  {
    name: "opencode",
    provider: "anthropic",
    path: "/v1",
    line: (url, provider) =>
      `OPENCODE_CONFIG_CONTENT='${JSON.stringify({ provider: { [provider]: { options: { baseURL: url } } } })}' opencode`,
    place: (provider) => ({
      file: ".config/opencode/opencode.json",
      format: "json",
      hasComments: true,
      key: ["provider", provider, "options", "baseURL"]
    })
  },
  {
    name: "gemini",
    provider: "gemini",
    formats: ["gemini"],
    line: (url) => `GOOGLE_GEMINI_BASE_URL=${url} gemini`,
    place: () => ({ file: ".gemini/.env", format: "env", key: ["GOOGLE_GEMINI_BASE_URL"] })
  },
  {
    name: "pi",
    provider: "anthropic",
    place: (provider) => ({ file: ".pi/agent/models.json", format: "json", key: ["providers", provider, "baseUrl"] })
  },
  {
    name: "cline",
    provider: "anthropic",
    path: "/v1",
    place: (provider) => ({
      file: ".cline/data/settings/providers.json",
      format: "json",
      key: ["providers", provider, "settings", "baseUrl"]
    }),
    addsProvider: (provider) => `cline auth ${provider}`
  },
  { name: "openai-sdk", provider: "openai", formats: OPENAI, line: (url) => `export OPENAI_BASE_URL=${url}` },
  {
    name: "anthropic-sdk",
    provider: "anthropic",
    formats: ["anthropic"],
    line: (url) => `export ANTHROPIC_BASE_URL=${url}`
  }
]

/** Their names. */
export const names: ReadonlyArray<string> = table.map(({ name }) => name)

/** The base URL of a client: that of Holdfast for a provider. OpenCode's adapter for OpenAI adds no version, as the SDK of OpenAI. */
export const urlFor = (client: Client, service: string, provider: string, profile: string | undefined): string =>
  `${service}/to/${provider}${profile === undefined ? "" : `@${profile}`}${provider === client.provider ? (client.path ?? "") : ""}`
