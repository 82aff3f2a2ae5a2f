import { describe, expect, it } from "@effect/vitest"
import { Accounts } from "../../src/gateway/Accounts.ts"

const call = (rest: string, ...headers: ReadonlyArray<string>) => ({ rest, headers })
const login = (token: string, session: string) =>
  call("/v1/messages", "authorization", `Bearer sk-ant-oat01-${token}`, "x-claude-code-session-id", session)

describe("the account of a call", () => {
  it("is that of its key, in a header or in the query", () => {
    const { nameOf } = new Accounts()
    const names = [
      nameOf(call("/m:generateContent?key=AIza-of-one-0123456789")),
      nameOf(call("/m:generateContent?key=AIza-of-two-0123456789")),
      nameOf(call("/m:generateContent", "x-goog-api-key", "AIza-of-six-0123456789"))
    ]
    expect(new Set(names).size).toBe(3)
    for (const name of names) expect(name).toMatch(/^[\w-]{6}$/u)
    expect(nameOf(call("/m:streamGenerateContent?alt=sse&key=AIza-of-one-0123456789"))).toBe(names[0])
  })

  it("rule X13: stays the same when a session renews its login, and for later sessions with that login", () => {
    const { nameOf } = new Accounts()
    const name = nameOf(login("first-0123456789", "s-1"))
    expect(nameOf(login("renewed-0123456789", "s-1"))).toBe(name)
    expect(nameOf(login("renewed-0123456789", "s-2"))).toBe(name)
    expect(nameOf(login("of-another-0123456789", "s-3"))).not.toBe(name)
  })

  it("is known anew by its login when 1,000 others have called since", () => {
    for (const others of [999, 1_000]) {
      const { nameOf } = new Accounts()
      const [name] = [login("first-0123456789", "s"), login("renewed-0123456789", "s")].map(nameOf)
      for (let n = 0; n < others; n++) nameOf(login(`${n}-0123456789`, `of ${n}`))
      expect([others, nameOf(login("renewed-0123456789", "t")) === name]).toEqual([others, others === 999])
    }
  })

  it("rule X13: is that of the organisation that an answer names, for each login of it, and over restarts", () => {
    const { nameIn, nameOf } = new Accounts()
    const name = nameIn(login("first-0123456789", "s-1"), "org-1")
    expect(nameOf(login("first-0123456789", "s-2"))).toBe(name)
    expect(nameIn(login("other-0123456789", "s-3"), "org-1")).toBe(name)
    expect(nameOf(login("other-0123456789", "s-4"))).toBe(name)
    expect(new Accounts().nameIn(login("later-0123456789", "s-5"), "org-1")).toBe(name)
  })

  it("is that of each key of an organisation, which has limits of its own, but not of spending", () => {
    const { nameIn, nameOf } = new Accounts()
    const [one, two] = ["sk-of-one-0123456789", "sk-of-two-0123456789"].map((key) =>
      call("/v1/messages", "x-api-key", key)
    )
    if (one === undefined || two === undefined) throw new Error("no keys")
    expect(nameIn(one, "org-1")).toBe(nameIn(two, "org-1"))
    expect(nameOf(one)).not.toBe(nameOf(two))
  })

  it("is the account that the request names", () => {
    const { nameIn, nameOf } = new Accounts()
    const of = (token: string) => call("/responses", "authorization", token, "chatgpt-account-id", "account-1")
    expect(nameOf(of("Bearer a-0123456789"))).toBe(nameOf(of("Bearer b-0123456789")))
    expect(nameIn(of("Bearer c-0123456789"), "org-1")).toBe(nameOf(of("Bearer a-0123456789")))
  })
})
