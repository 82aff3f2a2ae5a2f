/**
 * Lists the providers that need nothing but a key in the environment.
 *
 * The variables have the names that the providers' own SDKs read, so a key that works elsewhere works here. The order is the
 * preference: with several keys and no configured model, the first provider with a key is used.
 *
 * Sources: each provider's quickstart and SDK (openai-node and @anthropic-ai/sdk read `*_API_KEY` and `*_BASE_URL`;
 * groq-sdk, @mistralai/mistralai, @google/genai, together-ai and @openrouter/sdk read the keys named here; xAI, DeepSeek
 * and Cerebras document theirs for use with OpenAI's SDK).
 */

/** The formats that an endpoint may have. */
export type ApiFormat = "openai-compatible" | "anthropic" | "openai-responses" | "gemini"

/** A provider with a known address, key variable and default model. */
export interface BuiltIn {
  readonly name: string
  /** The name for people. */
  readonly title: string
  readonly type: ApiFormat
  readonly baseUrl: string
  /** The SDK's variable for a proxy's address. If it is set, the key may be valid for that proxy only, so requests go there. */
  readonly baseUrlEnv?: string
  readonly apiKeyEnv: ReadonlyArray<string>
  /** The model if there is a key and no configured model. */
  readonly defaultModel: string
}

/** The built-in providers that a key alone selects, in order of preference. Their formats are the first two. */
export const builtIns: ReadonlyArray<BuiltIn & { readonly type: "openai-compatible" | "anthropic" }> = [
  {
    name: "anthropic",
    title: "Anthropic",
    type: "anthropic",
    baseUrl: "https://api.anthropic.com",
    baseUrlEnv: "ANTHROPIC_BASE_URL",
    apiKeyEnv: ["ANTHROPIC_API_KEY"],
    defaultModel: "claude-sonnet-4-5"
  },
  {
    name: "openai",
    title: "OpenAI",
    type: "openai-compatible",
    baseUrl: "https://api.openai.com/v1",
    baseUrlEnv: "OPENAI_BASE_URL",
    apiKeyEnv: ["OPENAI_API_KEY"],
    defaultModel: "gpt-5"
  },
  {
    name: "openrouter",
    title: "OpenRouter",
    type: "openai-compatible",
    baseUrl: "https://openrouter.ai/api/v1",
    apiKeyEnv: ["OPENROUTER_API_KEY"],
    defaultModel: "openrouter/auto"
  },
  {
    name: "google",
    title: "Google Gemini",
    type: "openai-compatible",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    apiKeyEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    defaultModel: "gemini-2.5-pro"
  },
  {
    name: "xai",
    title: "xAI",
    type: "openai-compatible",
    baseUrl: "https://api.x.ai/v1",
    apiKeyEnv: ["XAI_API_KEY"],
    defaultModel: "grok-4"
  },
  {
    name: "mistral",
    title: "Mistral",
    type: "openai-compatible",
    baseUrl: "https://api.mistral.ai/v1",
    apiKeyEnv: ["MISTRAL_API_KEY"],
    defaultModel: "mistral-large-latest"
  },
  {
    name: "groq",
    title: "Groq",
    type: "openai-compatible",
    baseUrl: "https://api.groq.com/openai/v1",
    apiKeyEnv: ["GROQ_API_KEY"],
    defaultModel: "llama-3.3-70b-versatile"
  },
  {
    name: "deepseek",
    title: "DeepSeek",
    type: "openai-compatible",
    baseUrl: "https://api.deepseek.com/v1",
    apiKeyEnv: ["DEEPSEEK_API_KEY"],
    defaultModel: "deepseek-v4-flash"
  },
  {
    name: "together",
    title: "Together AI",
    type: "openai-compatible",
    baseUrl: "https://api.together.xyz/v1",
    apiKeyEnv: ["TOGETHER_API_KEY"],
    defaultModel: "meta-llama/Llama-3.3-70B-Instruct-Turbo"
  },
  {
    name: "fireworks",
    title: "Fireworks",
    type: "openai-compatible",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    apiKeyEnv: ["FIREWORKS_API_KEY"],
    defaultModel: "accounts/fireworks/models/llama-v3p3-70b-instruct"
  },
  {
    name: "cerebras",
    title: "Cerebras",
    type: "openai-compatible",
    baseUrl: "https://api.cerebras.ai/v1",
    apiKeyEnv: ["CEREBRAS_API_KEY"],
    defaultModel: "llama-3.3-70b"
  }
]

/**
 * Built-in providers that only their name selects: another format of a provider above, with the same keys, and `chatgpt`, which has no key: calls
 * through the gateway have the login of their client, a plan of ChatGPT.
 */
export const otherFormats: ReadonlyArray<BuiltIn> = [
  {
    name: "openai-responses",
    title: "OpenAI (Responses)",
    type: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    baseUrlEnv: "OPENAI_BASE_URL",
    apiKeyEnv: ["OPENAI_API_KEY"],
    defaultModel: "gpt-5"
  },
  {
    name: "gemini",
    title: "Google Gemini (native)",
    type: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com",
    baseUrlEnv: "GOOGLE_GEMINI_BASE_URL",
    apiKeyEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    defaultModel: "gemini-2.5-pro"
  },
  {
    name: "chatgpt",
    title: "ChatGPT, with the login of Codex",
    type: "openai-responses",
    baseUrl: "https://chatgpt.com/backend-api/codex",
    apiKeyEnv: [],
    defaultModel: "gpt-5-codex"
  }
]

/** The built-in provider with a name, of those that a key alone selects. */
export const find = (name: string) => builtIns.find((builtIn) => builtIn.name === name)

/** The only built-in provider of a format; `undefined` for chat completions, which many have. */
export const ofFormat = (type: ApiFormat): BuiltIn | undefined =>
  type === "openai-compatible" ? undefined : [...builtIns, ...otherFormats].find((builtIn) => builtIn.type === type)
