/** The agents, as they are on npm: each is started once, without a terminal, with a prompt. */
import { readdirSync, realpathSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { type Client, KEY, type Place } from "./Client.ts"
import * as Chat from "./formats/Chat.ts"
import type { Asked } from "./formats/Format.ts"
import * as Gemini from "./formats/Gemini.ts"
import * as Messages from "./formats/Messages.ts"
import * as Responses from "./formats/Responses.ts"
import * as Login from "./Login.ts"

const modules = join(import.meta.dirname, "../node_modules")

/** A program of a package that another package depends on: the binary of this machine. */
const beside = (of: string, name: string, path: string): string => {
  const manifest = createRequire(realpathSync(join(modules, of, "package.json"))).resolve(`${name}/package.json`)
  return join(dirname(manifest), path)
}

const MACHINE = `${process.platform}-${process.arch}`

const claude = beside("@anthropic-ai/claude-code", `@anthropic-ai/claude-code-${MACHINE}`, "claude")
const opencode = beside("opencode-ai", `opencode-${MACHINE}`, "bin/opencode")
const cline = beside("cline", `@cline/cli-${MACHINE}`, "bin/cline")
const codexVendor = beside("@openai/codex", `@openai/codex-${MACHINE}`, "vendor")
const codex = join(codexVendor, readdirSync(codexVendor)[0] ?? "", "bin/codex")
const pi = join(modules, "@earendil-works/pi-coding-agent/dist/bundle/cli.js")
const gemini = join(modules, "@google/gemini-cli/bundle/gemini.js")

/** Titles and summaries are asked for without tools. */
const hasTools = ({ body }: Asked): boolean => Array.isArray(body["tools"]) && body["tools"].length > 0

const agent = { isCounted: hasTools, repeats: "always" } as const

const codexLine = (options: ReadonlyArray<string>, prompt: string): ReadonlyArray<string> => [
  codex,
  ..."exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m gpt-5.1-codex".split(" "),
  ...["check_for_update_on_startup=false", "analytics.enabled=false", ...options].flatMap((option) => ["-c", option]),
  prompt
]

const codexClient = {
  ...agent,
  packages: ["@openai/codex"],
  format: Responses.format,
  type: "openai-responses",
  base: "/v1",
  shell: (cmd: string) => ({ name: "exec_command", input: { cmd } })
} as const

/** opencode with one of the adapters of the AI SDK that it carries. */
const opencodeClient = (
  adapter: string,
  wire: Pick<Client, "format" | "type" | "base">,
  model: string,
  provider: (url: string) => object
): Client => ({
  ...agent,
  ...wire,
  name: `opencode: ${adapter}`,
  packages: ["opencode-ai"],
  shell: (command) => ({ name: "bash", input: { command } }),
  start: ({ url }, prompt) => ({
    command: [opencode, "run", "-m", model, prompt],
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        autoupdate: false,
        share: "disabled",
        permission: "allow",
        provider: provider(url)
      })
    }
  })
})

const clineClient = (
  name: string,
  provider: string,
  wire: Pick<Client, "format" | "type" | "base">,
  model: string,
  path: string
): Client => ({
  ...agent,
  ...wire,
  name,
  repeats: "before the head",
  packages: ["cline"],
  shell: (command) => ({ name: "run_commands", input: { commands: [command] } }),
  start: ({ folder, port, url }, prompt) => ({
    command: [cline, "--cwd", folder, "-P", provider, "-m", model, prompt],
    env: { CLINE_HUB_PORT: String(port), CLINE_SESSION_BACKEND_MODE: "local" },
    files: {
      ".cline/data/settings/providers.json": JSON.stringify({
        version: 1,
        lastUsedProvider: provider,
        modes: {},
        providers: {
          [provider]: {
            settings: { provider, apiKey: KEY, model, baseUrl: `${url}${path}` },
            updatedAt: "2026-11-23T00:00:00.000Z",
            tokenSource: "manual"
          }
        }
      })
    }
  })
})

const MESSAGES = { format: Messages.format, type: "anthropic" } as const
const RESPONSES = { format: Responses.format, type: "openai-responses", base: "/v1" } as const
const CHAT = { format: Chat.format, type: "openai-compatible", base: "/v1" } as const

const claudeEnv = (url: string) => ({
  ANTHROPIC_BASE_URL: url,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  // As `holdfast connect claude` sets it: subagents in the background are waited for.
  CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: "0",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1"
})

const claudeClient = (name: string, own: Readonly<Record<string, string>>): Client => ({
  ...agent,
  ...MESSAGES,
  name,
  packages: ["@anthropic-ai/claude-code"],
  subagent: (prompt, isInBackground) => ({
    name: "Agent",
    input: { description: "Look", prompt, subagent_type: "general-purpose", run_in_background: isInBackground }
  }),
  interactive: ({ folder, url }, prompt, command) => ({
    command: ["sh", "-c", `sleep 300 | script -qfec 'stty cols 160 rows 40; ${claude} "${prompt}"' screen.txt`],
    env: { ...claudeEnv(url), ...own },
    files: {
      ".claude.json": JSON.stringify({
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
        projects: { [folder]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } }
      }),
      ".claude/settings.json": JSON.stringify({ statusLine: { type: "command", command, refreshInterval: 8 } })
    }
  }),
  shell: (command) => ({ name: "Bash", input: { command, description: "Run it" } }),
  start: ({ url }, prompt) => ({
    command: [claude, "-p", prompt, "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"],
    env: { ...claudeEnv(url), ...own }
  })
})

/** All agents. */
export const table: ReadonlyArray<Client> = [
  claudeClient("Claude Code", { ANTHROPIC_API_KEY: KEY }),
  {
    ...claudeClient("Claude Code with a login", { _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: "1" }),
    vendor: Login.claude
  },
  {
    ...codexClient,
    name: "Codex: openai_base_url",
    start: ({ url }: Place, prompt: string) => ({
      command: codexLine([`openai_base_url=${url}`], prompt),
      env: { CODEX_API_KEY: KEY }
    })
  },
  {
    ...codexClient,
    name: "Codex: a provider of its own",
    start: ({ url }: Place, prompt: string) => ({
      command: codexLine(
        [
          `model_providers.own={name="own",base_url="${url}",env_key="OWN_KEY",wire_api="responses"}`,
          "model_provider=own"
        ],
        prompt
      ),
      env: { OWN_KEY: KEY }
    })
  },
  {
    ...codexClient,
    name: "Codex with a login",
    base: "/backend-api/codex",
    start: ({ url }: Place, prompt: string) => ({ command: codexLine([`openai_base_url=${url}`], prompt) }),
    vendor: Login.chatgpt
  },
  opencodeClient("@ai-sdk/anthropic", MESSAGES, "anthropic/claude-sonnet-4-5", (url) => ({
    anthropic: { options: { baseURL: `${url}/v1`, apiKey: KEY } }
  })),
  opencodeClient("@ai-sdk/openai", RESPONSES, "openai/gpt-5", (url) => ({
    openai: { options: { baseURL: url, apiKey: KEY } }
  })),
  opencodeClient("@ai-sdk/openai-compatible", CHAT, "own/m", (url) => ({
    own: {
      npm: "@ai-sdk/openai-compatible",
      name: "Own",
      options: { baseURL: url, apiKey: KEY },
      models: { m: { name: "M" } }
    }
  })),
  {
    ...agent,
    ...MESSAGES,
    name: "pi",
    packages: ["@earendil-works/pi-coding-agent"],
    shell: (command) => ({ name: "bash", input: { command, timeout: 60 } }),
    start: ({ url }, prompt) => ({
      command: [
        process.execPath,
        pi,
        ..."-p --offline --provider anthropic --model claude-sonnet-4-5".split(" "),
        prompt
      ],
      env: { ANTHROPIC_API_KEY: KEY, PI_OFFLINE: "1", PI_TELEMETRY: "0" },
      files: { ".pi/agent/models.json": JSON.stringify({ providers: { anthropic: { baseUrl: url } } }) }
    })
  },
  {
    ...agent,
    name: "gemini-cli",
    repeats: "before the head",
    packages: ["@google/gemini-cli"],
    format: Gemini.format,
    type: "gemini",
    shell: (command) => ({ name: "run_shell_command", input: { command, description: "Run it" } }),
    start: ({ url }, prompt) => ({
      command: [process.execPath, gemini, "-p", prompt, "--skip-trust", "-y", "-m", "gemini-2.5-pro"],
      env: { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url, GEMINI_TELEMETRY_ENABLED: "false" },
      files: {
        ".gemini/settings.json": JSON.stringify({
          security: { auth: { selectedType: "gemini-api-key" } },
          general: { enableAutoUpdate: false, disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false }
        })
      }
    })
  },
  clineClient("cline: anthropic", "anthropic", MESSAGES, "claude-sonnet-4-5", "/v1"),
  clineClient("cline: openai-compatible", "openai-compatible", CHAT, "m", "")
]
