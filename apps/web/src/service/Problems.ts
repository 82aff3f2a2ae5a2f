/** Errors of calls, for people. Pure. */
import { ClientError } from "@holdfast/client"

/** The code of an error of the client; `undefined` for any other error. */
export const codeOf = (error: unknown): ClientError["code"] | undefined =>
  error instanceof ClientError ? error.code : undefined

/** The words of an error, for a person. */
export const wordsOf = (error: unknown): string => {
  if (error instanceof ClientError) {
    return error.code === "unreachable" ? "The service does not answer." : (error.problem?.detail ?? error.message)
  }
  return error instanceof Error ? error.message : String(error)
}

/** The mistakes of a request, each with the path of its key; `undefined` where the service named none. */
export const mistakesOf = (
  error: unknown
): ReadonlyArray<{ readonly path: string; readonly message: string }> | undefined =>
  error instanceof ClientError ? error.problem?.errors : undefined
