import { expect, it } from "vitest"
import * as WaitPicture from "../../src/conversation/WaitPicture.tsx"

const MINUTE = 60_000
const DUE = new Date(2031, 3, 1, 23, 0).getTime()

const wordsOf = (upcoming: Parameters<typeof WaitPicture.laterOf>[0]) =>
  WaitPicture.wordsOf(upcoming, WaitPicture.laterOf(upcoming, DUE), DUE)

it("rule D13: later attempts come not before the sum of the waits, and random parts are named", () => {
  expect(WaitPicture.laterOf({ delaysMs: [MINUTE, 2 * MINUTE], jitter: 0.5 }, DUE)).toEqual([
    { delayMs: MINUTE, mostMs: 1.5 * MINUTE, notBefore: DUE + MINUTE },
    { delayMs: 2 * MINUTE, mostMs: 3 * MINUTE, notBefore: DUE + 3 * MINUTE }
  ])
  expect(wordsOf({ delaysMs: [MINUTE, MINUTE], jitter: 0.1, because: "budget" })).toMatch(
    /^If it keeps failing, 2 attempts follow, the last one not before .*\d\d:02; then the waiting time is used up\. Each wait is up to 10 % longer, at random\.$/
  )
})

it("rule D13: the end of the retries is said, and that there is none in sight", () => {
  expect(wordsOf({ delaysMs: [], because: "max-retries" })).toBe(
    "If it fails, the turn fails: no further retry is allowed."
  )
  expect(wordsOf({ delaysMs: Array.from({ length: 32 }, () => MINUTE) })).toBe(
    "If it keeps failing, more than 32 attempts follow."
  )
  expect(wordsOf({ delaysMs: [MINUTE], because: "max-delay" })).toMatch(
    /^If it keeps failing, 1 attempt follows, not before .*\d\d:01; then the next wait would be longer than allowed\.$/
  )
})
