/**
 * Signs a message for its receiver, as Standard Webhooks does (standardwebhooks.com). Pure.
 *
 * The signature is over id, time and body, so none of them can be changed, and an old message can be refused.
 */
import { createHmac } from "node:crypto"

/** The prefix of a secret that is written in base64. */
const PREFIX = "whsec_"

/** The headers of a signed message. */
export const headers = (secret: string, id: string, at: number, body: string): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(at / 1000))
  const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), "base64") : Buffer.from(secret)
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` }
}
