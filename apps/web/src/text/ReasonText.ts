/** Why a call failed, in words. Pure. */

/** The words of a reason; a reason of a later version is shown as it is. */
export const wordsOf = (reason: string): string => WORDS[reason] ?? reason

// --- internal

const WORDS: Readonly<Record<string, string>> = {
  "rate-limited": "Rate limit reached",
  "quota-exhausted": "Quota used up",
  overloaded: "The provider is overloaded",
  "server-error": "The provider failed",
  network: "The connection to the provider failed",
  timeout: "The provider did not answer in time",
  "invalid-response": "The provider’s answer was not readable",
  auth: "The key was not accepted",
  "context-overflow": "The conversation is too long for the model",
  refused: "The request was refused",
  "model-unavailable": "The model is not available",
  "bad-request": "The request was not accepted",
  aborted: "The call was aborted",
  unknown: "An error of an unknown kind"
}
