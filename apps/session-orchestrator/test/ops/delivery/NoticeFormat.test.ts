/** Tests the formats of notices. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { EmailAddress, NoticeTemplate } from "../../../src/config/reading/SettingTypes.ts"
import * as NoticeFormat from "../../../src/ops/delivery/NoticeFormat.ts"

const body: NoticeFormat.NoticeBody = {
  id: "openai/gpt-5@1000/incident-began",
  type: "incident-began",
  text: 'openai/gpt-5 is "down" <!channel> & \u{1f6a8}',
  provider: "openai",
  model: "gpt-5\r\nX-Evil: 1",
  waiting: 3
}

describe("a notice", () => {
  it("is JSON with all fields", () => {
    const { headers, text } = NoticeFormat.write("json", body)
    expect(headers).toEqual({ "content-type": "application/json" })
    expect(JSON.parse(text)).toEqual(body)
  })

  it("mentions nobody in Slack", () => {
    const { text } = JSON.parse(NoticeFormat.write("slack", body).text)
    expect(text).toBe('openai/gpt-5 is "down" &lt;!channel&gt; &amp; \u{1f6a8}')
  })

  it("has a title of one line in ntfy", () => {
    const { headers, text } = NoticeFormat.write("ntfy", body)
    expect(headers["title"]).toBe("openai/gpt-5 X-Evil: 1 is down")
    expect(text).toBe(body.text)
    const { model: _, ...some } = body
    expect(NoticeFormat.write("ntfy", some).headers["title"]).toBe("an endpoint is down")
  })

  it.each([
    ["incident-began", "openai/gpt-5 is down", "warning"],
    ["incident-ended", "openai/gpt-5 answers again", "white_check_mark"],
    ["incident-gave-up", "openai/gpt-5 was given up", "warning"],
    ["turns-failed", "Turns failed at openai/gpt-5", "warning"],
    ["question", "A turn waits for a person", "question"],
    ["report", "Report of the day", "sunrise"]
  ])("of type %s has the title %j", (type, title, tags) => {
    const { headers } = NoticeFormat.write("ntfy", { ...body, type, model: "gpt-5" })
    expect(headers).toMatchObject({ title, tags })
  })

  it("is an e-mail whose headers and body cannot be forged", () => {
    const long = { ...body, model: `${body["model"]}${"x".repeat(200)}` }
    const { text } = NoticeFormat.write({ email: { from: "holdfast@example.org", to: "oncall@example.org" } }, long)
    const [head = "", encoded = ""] = text.split("\r\n\r\n")
    const names = head.split("\r\n").map((line) => line.split(":")[0])
    expect(names.join(" ")).toBe("From To Subject Message-ID MIME-Version Content-Type Content-Transfer-Encoding")
    expect(head).toContain(`\r\nSubject: Holdfast: openai/gpt-5 X-Evil: 1${"x".repeat(168)}\r\n`)
    expect(Buffer.from(encoded, "base64").toString("utf8")).toBe(body.text)
  })

  it("fills a template, in JSON with escaped values", () => {
    const json = NoticeFormat.write({ template: '{"content":"{{text}}","n":{{waiting}}}' }, body)
    expect(JSON.parse(json.text)).toEqual({ content: body.text, n: 3 })
    expect(json.headers).toEqual({ "content-type": "application/json" })
    for (const template of ["{{text}}", "Now: {{text}}"])
      expect(NoticeFormat.write({ template }, body).text).toContain('"down"')
    expect(NoticeFormat.write({ template: "{{ title }}: {{reason}}." }, body).text).toContain("is down: .")
    const links = { ...body, url: "http://127.0.0.1:4747/#/c/1", nextAt: "2031-04-01T22:00:00.000Z" }
    expect(NoticeFormat.write({ template: "{{url}} {{nextAt}}" }, links).text).toBe(`${links.url} ${links.nextAt}`)
  })

  it("a template names fields of a notice alone", () => {
    const isTemplate = Schema.is(NoticeTemplate)
    const wrong = ["{{secret}}", "{{constructor}}", "{{text}} {{env}}", "{{env.KEY}}", "{{text", "{{{{text}}}}", ""]
    expect(wrong.filter(isTemplate)).toEqual([])
    expect(isTemplate("{{text}} {{at}} $HOME {x}")).toBe(true)
    expect(isTemplate('{"a":{"b":{"c":"{{text}}"}}}')).toBe(true)
    expect(Schema.is(EmailAddress)("a@b\r\nBcc: c@d")).toBe(false)
  })
})
