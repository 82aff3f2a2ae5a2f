/** A guard against hanging, in milliseconds: many times what anything here takes, on a busy machine too. */
export const DEADLINE_MS = 300_000

/** The same promise, which rejects after the deadline. `what` is awaited. */
export const within = async <A>(what: string, promise: Promise<A>): Promise<A> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`not within ${DEADLINE_MS} ms: ${what}`)), DEADLINE_MS)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
