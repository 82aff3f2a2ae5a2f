/** Refuses prompts with a file above `server.maxFileBytes`. */
import { FilePart, type Prompt } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import { Context, Effect } from "effect"
import { DEFAULTS } from "../config/reading/Settings.ts"

/** The most bytes of a file in a prompt. */
export const FileLimit = Context.Reference<number>("@holdfast/session-orchestrator/http/FileLimit", {
  defaultValue: () => DEFAULTS.server.maxFileBytes
})

/** Fails if a file of the prompt is above the limit. */
export const check = (prompt: Prompt.Prompt, limitBytes: number): Effect.Effect<void, Problem.FileTooLarge> => {
  if (typeof prompt === "string") return Effect.void
  for (const [index, part] of prompt.entries()) {
    if (part.type !== "file" || !("data" in part)) continue
    const sizeBytes = FilePart.sizeOf(part)
    if (sizeBytes <= limitBytes) continue
    const at = `prompt[${index}]`
    const detail =
      `${at}, ${FilePart.placeholderOf(part)}, has ${sizeBytes} bytes. A file may have ${limitBytes} bytes at most ` +
      "(server.maxFileBytes)."
    return Effect.fail(new Problem.FileTooLarge({ part: at, sizeBytes, limitBytes, detail }))
  }
  return Effect.void
}
