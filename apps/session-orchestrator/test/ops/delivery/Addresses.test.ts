/** Tests which addresses of requests are reached, how messages are signed, and the moments of a day. */
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"
import * as Posting from "../../../src/ops/delivery/Posting.ts"
import * as NoticeMessages from "../../../src/ops/delivery/NoticeMessages.ts"
import * as ServiceDeliveries from "../../../src/ops/delivery/ServiceDeliveries.ts"
import * as Law from "../../Law.ts"

const PRIVATE = `
  http://127.0.0.1/ http://127.1/ http://2130706433/ http://0x7f.0.0.1/ http://0/ http://10.1.2.3:8080/x
  http://172.31.255.255/ http://192.168.0.1/ http://169.254.169.254/latest/meta-data http://100.64.0.1/
  http://224.0.0.1/ http://255.255.255.255/ http://[::1]/ http://[::]/ http://[::ffff:127.0.0.1]/
  http://[::ffff:8.8.8.8]/ http://[::808:808]/ http://[64:ff9b:1::1]/ http://[fec0::1]/ http://[5f00::1]/
  http://192.88.99.1/ http://[64:ff9b::7f00:1]/ http://[2002:7f00:1::]/ http://[fe80::1]/ http://[fd00::1]/
  http://localhost:4747/ http://api.localhost/ http://LOCALHOST./
`
  .trim()
  .split(/\s+/)

describe("an address in a request", () => {
  it.each(PRIVATE)("is refused if it is private: %s", (url) => {
    expect(Posting.refusalOf(url)).toMatch(/private/)
  })

  it.each(
    "ftp://example.org/ file:///etc/passwd example.org http://user@example.org/ http://:key@example.org/".split(" ")
  )("is refused if it is none of http, or has a user: %j", (url) => {
    expect(Posting.refusalOf(url)).toMatch(/expected/)
    expect([Posting.refusalOf(""), Posting.isPublic(url)]).toEqual(["expected an http or https address", false])
  })

  it.each(["https://example.org/hook?x=1", "http://8.8.8.8/", "https://[2606:4700::1111]/", "https://172.32.0.1/"])(
    "is accepted if it is public: %s",
    (url) => {
      expect(Posting.refusalOf(url)).toBeUndefined()
    }
  )
})

describe("Signature", () => {
  it("is that of Standard Webhooks", () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    const at = 1_614_265_330_000
    expect(ServiceDeliveries.signatureOf(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, '{"test": 2432232314}')).toEqual({
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    })
  })
})

const digits = (max: number) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(2, "0"))
const time = fc.tuple(digits(23), digits(59)).map((parts) => parts.join(":"))
const moment = fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2035, 0, 1) })
const HOUR = 3_600_000

describe("a daily time", () => {
  it("comes once a day, over changes of the clocks too", () =>
    Law.holds([time, moment], (time, now) => {
      const [last, next] = [LocalTime.lastDaily(time, now), LocalTime.nextDaily(time, now)]
      expect(last).toBeLessThanOrEqual(now)
      expect(next).toBeGreaterThan(now)
      expect(next - last).toBeGreaterThanOrEqual(22 * HOUR)
      expect(next - last).toBeLessThanOrEqual(26 * HOUR)
      expect(LocalTime.lastDaily(time, next)).toBe(next)
      expect(LocalTime.nextDaily(time, last)).toBe(next)
    }))

  it("reads a time of day, and nothing else", () => {
    const noon = new Date(2031, 3, 1, 12).getTime()
    expect(LocalTime.lastDaily("07:05", noon)).toBe(new Date(2031, 3, 1, 7, 5).getTime())
    for (const text of ["07:05", "00:00", "23:59"]) expect(text).toMatch(LocalTime.DAILY)
    for (const text of ["7:05", "24:00", "07:60", "07:05:00", " 07:05", ""]) expect(text).not.toMatch(LocalTime.DAILY)
  })
})

describe("quiet hours", () => {
  it("end at the next end if they have begun since the last one", () => {
    const night = { from: "22:00", to: "07:00" }
    const at = (hours: number, minutes = 0, day = 1) => new Date(2031, 3, day, hours, minutes).getTime()
    expect(NoticeMessages.quietUntil(night, at(23))).toBe(at(7, 0, 2))
    expect(NoticeMessages.quietUntil(night, at(22))).toBe(at(7, 0, 2))
    expect(NoticeMessages.quietUntil(night, at(3))).toBe(at(7))
    expect(NoticeMessages.quietUntil(night, at(7))).toBeUndefined()
    expect(NoticeMessages.quietUntil(night, at(21, 59))).toBeUndefined()
    const none = { from: "07:00", to: "07:00" }
    for (const hours of [6, 7, 8]) expect(NoticeMessages.quietUntil(none, at(hours))).toBeUndefined()
  })
})
