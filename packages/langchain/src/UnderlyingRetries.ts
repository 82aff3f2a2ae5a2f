/** Switches the retries under a model off: two patiences would multiply. */

/** Sets the retries of a model's callers to 0, those of models inside it too. A warning names a client that makes retries of its own. */
export const withoutRetries = (model: object): void => {
  for (const part of [model, ...Object.values(model)]) if (isRetrying(part?.caller)) part.caller.maxRetries = 0
  for (const [name, client] of Object.entries(model))
    if (name !== "caller" && isRetrying(client) && client.maxRetries > 0)
      // oxlint-disable-next-line no-console -- a mistake of the program, at its start, to the people who write it.
      console.warn(
        `@holdfast/langchain: "${name}" of ${model.constructor.name} makes ${client.maxRetries} retries of its own. Set its maxRetries to 0: Holdfast makes the retries.`
      )
}

// --- internal

/** Whether it is LangChain's `AsyncCaller` or an SDK's client: an instance of a class with retries. Arguments of a constructor are plain. */
const isRetrying = (value: unknown): value is { maxRetries: number } =>
  typeof value === "object" &&
  value !== null &&
  Object.getPrototypeOf(value) !== Object.prototype &&
  typeof Reflect.get(value, "maxRetries") === "number"
