/** A login of a plan, as a client has it on disk: it ends, and is renewed at its vendor's host. */
import { randomBytes } from "node:crypto"

/** How a vendor's logins look. */
export interface Vendor {
  readonly token: (id: string, endsAt: number) => string
  /** The file below the client's home that has the login. */
  readonly file: (login: Login) => readonly [name: string, content: object]
  /** What the vendor's host answers to a renewal. */
  readonly renewed: (login: Login) => object
}

/** A login. */
export interface Login {
  readonly vendor: Vendor
  /** The token that renews it. */
  readonly refresh: string
  /** The token that the provider takes, and when its client believes it to end. */
  access: string
  endsAt: number
  renewals: number
}

/** A new login. */
export const make = (vendor: Vendor, endsAt: number): Login => {
  const id = randomBytes(8).toString("hex")
  return { vendor, refresh: `refresh-${id}`, access: vendor.token(id, endsAt), endsAt, renewals: 0 }
}

/** The provider takes its token no more. */
export const end = (login: Login): void => void (login.access = "none")

/** A new token, as the answer of the vendor's host. */
export const renew = (login: Login, endsAt: number): object => {
  login.renewals++
  login.endsAt = endsAt
  login.access = login.vendor.token(randomBytes(8).toString("hex"), endsAt)
  return login.vendor.renewed(login)
}

/** Whether a call has the token that is taken. */
export const isGood = ({ access }: Login, authorization: string | undefined): boolean =>
  authorization === `Bearer ${access}`

/** A login of Claude's plans. */
export const claude: Vendor = {
  token: (id) => `sk-ant-oat01-${id}`,
  file: ({ access, endsAt, refresh }) => [
    ".claude/.credentials.json",
    {
      claudeAiOauth: {
        accessToken: access,
        refreshToken: refresh,
        expiresAt: endsAt,
        scopes: ["user:inference", "user:profile"],
        subscriptionType: "max"
      }
    }
  ],
  renewed: ({ access, endsAt, refresh }) => ({
    token_type: "Bearer",
    access_token: access,
    refresh_token: refresh,
    expires_in: Math.round((endsAt - Date.now()) / 1_000),
    scope: "user:inference user:profile"
  })
}

/** A login of ChatGPT, whose tokens say themselves when they end. */
export const chatgpt: Vendor = {
  token: (id, endsAt) =>
    [
      { alg: "none", typ: "JWT" },
      {
        jti: id,
        exp: Math.round(endsAt / 1_000),
        email: "person@example.com",
        "https://api.openai.com/auth": {
          chatgpt_plan_type: "plus",
          chatgpt_account_id: "account",
          chatgpt_user_id: "user"
        }
      },
      "signature"
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join("."),
  file: ({ access, refresh }) => [
    ".codex/auth.json",
    {
      auth_mode: "chatgpt",
      OPENAI_API_KEY: null,
      tokens: { id_token: access, access_token: access, refresh_token: refresh, account_id: "account" },
      last_refresh: new Date().toISOString()
    }
  ],
  renewed: ({ access, refresh }) => ({ id_token: access, access_token: access, refresh_token: refresh })
}
