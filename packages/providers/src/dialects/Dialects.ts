/** All dialects, and which of them a path belongs to. */
import * as Completions from "./Completions.ts"
import { type Dialect, type Format, pathOf } from "./Dialect.ts"
import * as GenerateContent from "./GenerateContent.ts"
import * as Messages from "./Messages.ts"
import * as Responses from "./Responses.ts"

/** The dialect of each format. */
export const byFormat: Readonly<Record<Format, Dialect>> = {
  chat: Completions.dialect,
  messages: Messages.dialect,
  responses: Responses.dialect,
  gemini: GenerateContent.dialect
}

/**
 * The dialect of a POST to this target (path and query); `undefined`: its answer is not held.
 *
 * **Gotchas**
 *
 * `/threads/<id>/messages` is of OpenAI's assistants, and adds a message without calling a model.
 */
export const of = (target: string): Dialect | undefined => {
  const path = pathOf(target)
  if (path.endsWith("/chat/completions")) return byFormat.chat
  if (path.endsWith("/responses")) return byFormat.responses
  if (path.endsWith("/messages") && !/\/threads\/[^/]+\/messages$/.test(path)) return byFormat.messages
  return /:(?:generateContent|streamGenerateContent)$/.test(path) ? byFormat.gemini : undefined
}
