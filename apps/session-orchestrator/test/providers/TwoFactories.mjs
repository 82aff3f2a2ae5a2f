/** A module whose factories are no providers of the AI SDK. */
export const createNothing = () => ({})
export const createError = () => {
  throw new Error("region is missing")
}
