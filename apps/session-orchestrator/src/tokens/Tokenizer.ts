/**
 * Counts the tokens of a text, by the encoding of OpenAI's newer models (`o200k_base`).
 *
 * Other providers' encodings differ by some ten per cent, so a count is an estimate: where a provider has told what a
 * conversation cost, `ContextSize` takes its word. The tables take 80 MB and a third of a second to load, so they are loaded when
 * the first turn needs them, and not at all where no budget and no context window is configured.
 */
import { Effect } from "effect"

/** Counts the tokens of a text. */
export type Count = (text: string) => number

/** The counter. The tables are loaded once. */
export const load: Effect.Effect<Count> = Effect.suspend(() => {
  loading ??= loadTables()
  return Effect.promise(() => loading ?? loadTables())
})

// --- internal

let loading: Promise<Count> | undefined

const loadTables = async (): Promise<Count> => {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base")
  // A text that looks like one of the encoding's own marks is a text.
  return (text) => countTokens(text, { disallowedSpecial: new Set() })
}
