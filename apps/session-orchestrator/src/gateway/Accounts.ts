/**
 * Names the accounts that clients call with by digests: a login that was renewed keeps the name of the one before.
 *
 * An account is known by what a request or an answer names it. Until then it is known by its session, whose first login gave it a name, and
 * otherwise by its credential. A key is an account of its own, though its organisation has others.
 */
import { createHash } from "node:crypto"
import { BoundedMap } from "../base/system/BoundedMap.ts"
import * as Credentials from "../config/redaction/Credentials.ts"
import * as GatedCall from "./GatedCall.ts"
import * as Headers from "./Headers.ts"

/** What has a client's credential: its headers, or its query. */
type Keyholder = Pick<GatedCall.GatedCall, "headers" | "rest">

/** The accounts of the calls of this process. */
export class Accounts {
  /** By digests of logins. */
  private readonly ofLogins = new BoundedMap<string>(MOST)
  private readonly ofSessions = new BoundedMap<string>(MOST)

  /** The name of the account of a call with its client's own credential. */
  readonly nameOf = (call: Keyholder): string => {
    const [account] = Headers.valuesOf(call.headers, "chatgpt-account-id")
    if (account !== undefined) return digest(account)
    const own = credentialOf(call)
    if (!isLogin(call)) return own
    const session = GatedCall.sessionOf(call) ?? own
    return this.known(own, session, this.ofLogins.get(own) ?? this.ofSessions.get(session) ?? own)
  }

  /** The same, of a call whose answer names its organisation. */
  readonly nameIn = (call: Keyholder, organisation: string): string => {
    const [account] = Headers.valuesOf(call.headers, "chatgpt-account-id")
    if (account !== undefined || !isLogin(call)) return digest(account ?? organisation)
    const own = credentialOf(call)
    return this.known(own, GatedCall.sessionOf(call) ?? own, digest(organisation))
  }

  private known(login: string, session: string, name: string): string {
    this.ofLogins.set(login, name)
    this.ofSessions.set(session, name)
    return name
  }
}

// --- internal

/** Logins and sessions that are known at once: those that have called last. */
const MOST = 1_000

const digest = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 6)

const credentialOf = ({ headers, rest }: Keyholder): string =>
  digest(JSON.stringify(Credentials.secretsOf(headers, rest).toSorted()))

/** Whether its credential may be a login, which ends and is renewed. */
const isLogin = ({ headers }: Keyholder): boolean => Headers.valuesOf(headers, "authorization").length > 0
