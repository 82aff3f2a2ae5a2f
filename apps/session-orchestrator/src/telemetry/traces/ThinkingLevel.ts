/**
 * Reads a request's thinking level from the operator's body fields (M4). Pure.
 *
 * Providers have different names for it: `reasoning_effort` (chat completions), `reasoning.effort` (Responses, OpenRouter),
 * `output_config.effort` and `thinking` (Anthropic), `generationConfig.thinkingConfig` (Gemini). A budget of tokens becomes `4096 tokens`.
 */
import type { Schema } from "effect"
import type { ProviderConfig } from "../../config/Config.ts"

type Body = Readonly<Record<string, Schema.Json>>

/** The level of a model's requests; `undefined` if none is set. */
export const of = (provider: ProviderConfig | undefined, model: string): string | undefined => {
  if (provider === undefined || provider.type === "simulated" || provider.request === undefined) return undefined
  const { body, modelBody } = provider.request
  const own = modelBody.get(model)
  for (const level of LEVELS) {
    const set = level(own ?? {})
    if (set === null) continue // the model's fields remove the provider's
    const found = set ?? level(body ?? {})
    if (typeof found === "string") return found
  }
  return undefined
}

// --- internal

/** Reads one provider's field. `null`: the operator removes the field. */
type Level = (body: Body) => string | null | undefined

const LEVELS: ReadonlyArray<Level> = [
  (body) => effort(body["reasoning_effort"]),
  (body) => inside(body["reasoning"], ({ effort: level }) => effort(level)),
  (body) => inside(body["output_config"], ({ effort: level }) => effort(level)),
  (body) =>
    inside(body["thinking"], ({ budget_tokens: tokens, type }) =>
      typeof tokens === "number" ? `${tokens} tokens` : effort(type)
    ),
  (body) =>
    inside(body["generationConfig"], ({ thinkingConfig }) =>
      inside(thinkingConfig, ({ thinkingBudget: tokens, thinkingLevel }) =>
        typeof tokens === "number" ? `${tokens} tokens` : effort(thinkingLevel)
      )
    )
]

const effort = (value: Schema.Json | undefined): string | null | undefined =>
  value === null || typeof value === "string" ? value : undefined

const inside = (value: Schema.Json | undefined, level: Level): string | null | undefined => {
  if (value === null) return null
  return typeof value === "object" && !Array.isArray(value) ? level(value as Body) : undefined
}
