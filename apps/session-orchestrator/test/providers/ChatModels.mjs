/** A module of an operator: the chat models of OpenAI's package, and one name that it does not have. */
import { createOpenAI } from "@ai-sdk/openai"

export const createChat = (options) => ({
  languageModel: (modelId) => {
    if (modelId === "gone")
      throw Object.assign(new Error("No such languageModel: gone"), { name: "AI_NoSuchModelError" })
    if (modelId === "old") return { specificationVersion: "v1" }
    return createOpenAI({ apiKey: "none is needed", ...options }).chat(modelId)
  }
})
