/**
 * The clients that `holdfast connect` knows: how each is given a base URL, and where it keeps that.
 *
 * A client's change is a line here.
 */
import { Schema } from "effect"
import type { FilePlace, Value } from "./ClientFile.ts"

/** A variable that a client has beside its base URL. */
export interface Variable {
  readonly name: string
  readonly value: string
  /** Only where calls go on to this origin. */
  readonly origin?: string
}

/** What a program is started with. */
export interface ProgramStart {
  readonly environment?: Readonly<Record<string, string>>
  /** Before the arguments of its user. */
  readonly args?: ReadonlyArray<string>
}

/** A client. */
export interface Program {
  readonly name: string
  /** It is a library, which any program may have. */
  readonly isLibrary?: boolean
  /** The provider that it calls, unless another one is named. */
  readonly provider: string
  /** The file of its login, and the provider that a login calls instead; `undefined`: the one above. */
  readonly login?: { readonly file: string; readonly provider: (login: unknown) => string | undefined }
  /** The formats that it can call; absent: that of the provider that is named. */
  readonly formats?: ReadonlyArray<string>
  /** Variables beside the base URL, in the same object of its configuration. */
  readonly variables?: ReadonlyArray<Variable>
  /** What its configuration has elsewhere; a value that is there is its person's, and stays. */
  readonly settings?: ReadonlyArray<{ readonly key: ReadonlyArray<string>; readonly value: Value }>
  /** What it expects at the end of its base URL. */
  readonly path?: string
  /** The arguments with which it draws no screen of its own, and so leaves the terminal to lines of others. */
  readonly printing?: ReadonlyArray<string>
  /** How it is started with a base URL; absent: only its own configuration has one. */
  readonly start?: (url: string, provider: string) => ProgramStart
  /** Where its own configuration has the base URL; absent: it has none. */
  readonly place?: (provider: string) => FilePlace
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
export const table: ReadonlyArray<Program> = [
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
    printing: ["-p", "--print"],
    // Without the interval it is as it was when the call began: in a wait Claude Code has no news of its own.
    settings: [
      { key: ["statusLine"], value: { type: "command", command: "holdfast status-line", refreshInterval: 30 } }
    ],
    start: (url) => ({ environment: { ANTHROPIC_BASE_URL: url } }),
    place: () => ({ file: ".claude/settings.json", format: "json", key: ["env", "ANTHROPIC_BASE_URL"] })
  },
  {
    name: "codex",
    provider: "openai",
    login: { file: ".codex/auth.json", provider: (login) => (isOfPlan(login) ? "chatgpt" : undefined) },
    formats: OPENAI,
    printing: ["exec", "e"],
    start: (url) => ({ args: ["-c", `openai_base_url=${url}`] }),
    place: () => ({ file: ".codex/config.toml", format: "toml", key: ["openai_base_url"] })
  },
  {
    name: "opencode",
    provider: "anthropic",
    path: "/v1",
    printing: ["run"],
    start: (url, provider) => ({
      environment: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { [provider]: { options: { baseURL: url } } } })
      }
    }),
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
    printing: ["-p", "--prompt"],
    start: (url) => ({ environment: { GOOGLE_GEMINI_BASE_URL: url } }),
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
  {
    name: "openai-sdk",
    isLibrary: true,
    provider: "openai",
    formats: OPENAI,
    start: (url) => ({ environment: { OPENAI_BASE_URL: url } })
  },
  {
    name: "anthropic-sdk",
    isLibrary: true,
    provider: "anthropic",
    formats: ["anthropic"],
    start: (url) => ({ environment: { ANTHROPIC_BASE_URL: url } })
  }
]

/** Their names. */
export const names: ReadonlyArray<string> = table.map(({ name }) => name)
