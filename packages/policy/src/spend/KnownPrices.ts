/**
 * The prices of well-known models: the only file to edit when a price changes.
 *
 * US dollars per million tokens, as the providers' price pages have them. Models whose price depends on the length of the request are left
 * out: a wrong figure would be worse than none.
 */
type Price = Pick<typeof opus, "input" | "output"> & Partial<typeof opus>

/** The prices of one provider, and where they are from. */
export interface PriceList {
  /** The provider's name in a target. */
  readonly provider: string
  readonly source: string
  /** The month in which the page had these prices. */
  readonly asOf: string
  readonly models: { readonly [model: string]: Price }
}

const opus = { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 }

/** OpenAI's prices are those of the model, in either format. */
const openAi = (provider: string): PriceList => ({
  provider,
  source: "https://developers.openai.com/api/docs/pricing",
  asOf: "2026-11",
  models: {
    "gpt-4.1": { input: 2, output: 8, cachedInput: 0.5 },
    "gpt-4.1-mini": { input: 0.4, output: 1.6, cachedInput: 0.1 },
    "gpt-4.1-nano": { input: 0.1, output: 0.4, cachedInput: 0.025 },
    "gpt-4o": { input: 2.5, output: 10, cachedInput: 1.25 },
    "gpt-4o-mini": { input: 0.15, output: 0.6, cachedInput: 0.075 },
    "gpt-5": { input: 1.25, output: 10, cachedInput: 0.125 },
    "gpt-5-mini": { input: 0.25, output: 2, cachedInput: 0.025 },
    "gpt-5-nano": { input: 0.05, output: 0.4, cachedInput: 0.005 },
    "gpt-5.2": { input: 1.75, output: 14, cachedInput: 0.175 },
    o3: { input: 2, output: 8, cachedInput: 0.5 },
    "o4-mini": { input: 1.1, output: 4.4, cachedInput: 0.275 }
  }
})

/** Every list. */
export const lists: ReadonlyArray<PriceList> = [
  {
    provider: "anthropic",
    source: "https://platform.claude.com/docs/en/about-claude/pricing",
    asOf: "2026-11",
    models: {
      "claude-haiku-4-5": { input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25 },
      "claude-sonnet-4-5": { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
      "claude-opus-4-1": { input: 15, output: 75, cachedInput: 1.5, cacheWrite: 18.75 },
      "claude-opus-4-5": opus,
      "claude-opus-4-6": opus,
      "claude-opus-4-7": opus,
      "claude-opus-4-8": opus,
      "claude-opus-5": opus
    }
  },
  openAi("openai"),
  openAi("openai-responses")
]
