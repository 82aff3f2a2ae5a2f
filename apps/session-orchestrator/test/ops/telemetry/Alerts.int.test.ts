/** Checks the alerting rules in docs/ against the series of a fresh service. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { readFileSync } from "node:fs"
import * as Yaml from "yaml"
import * as Service from "../../service/Service.ts"
import * as PrometheusText from "./PrometheusText.ts"
import * as PromQl from "./PromQl.ts"

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const docs = (name: string): string => readFileSync(new URL(`../../../../../docs/${name}`, import.meta.url), "utf8")

const file: { readonly groups: ReadonlyArray<{ readonly name: string; readonly rules: ReadonlyArray<Rule> }> } =
  Yaml.parse(docs("prometheus-alerts.yml"))
const rules = file.groups.flatMap(({ rules }) => rules)

/** Labels that Prometheus adds to each series that it scrapes. */
const OF_THE_SCRAPE: ReadonlySet<string> = new Set(["instance", "job"])

/** The series that Prometheus itself adds to a scrape. */
const OF_PROMETHEUS: ReadonlySet<string> = new Set(["up"])

/** Whether a selector matches a series of a fresh service. */
const picks = ({ matchers, name }: PromQl.Selector, sample: PrometheusText.Sample): boolean =>
  sample.name === name &&
  matchers
    .filter(({ label }) => !OF_THE_SCRAPE.has(label))
    .every(({ label, operator, value }) => {
      const found = sample.labels[label]
      return operator === "=" ? found === value : operator === "=~" && new RegExp(`^(?:${value})$`).test(found ?? "")
    })

/** The seconds of a duration with one unit. */
const secondsOf = (text: string): number =>
  Number.parseInt(text, 10) * ({ s: 1, m: 60, h: 3600 }[text.at(-1) ?? ""] ?? assert.fail(`${text} is no duration`))

describe("docs/prometheus-alerts.yml", () => {
  it.live("rule X12: each rule queries, in PromQL, series that a service has from its start", () =>
    Effect.gen(function* () {
      const service = yield* Service.start()
      const { samples } = PrometheusText.read((yield* service.call({ path: "/metrics" })).text)
      for (const { alert, annotations, expr } of rules) {
        const { groupedBy, isValid, selectors } = PromQl.read(expr)
        assert.isTrue(isValid, `${alert} is no PromQL`)
        assert.isAbove(selectors.length, 0, alert)
        const text = Object.values(annotations).join(" ")
        const shown = Array.from(text.matchAll(/\$labels\.(\w+)/g), ([, label = ""]) => label)
        const labels = new Set<string>(OF_THE_SCRAPE)
        for (const selector of selectors) {
          if (OF_PROMETHEUS.has(selector.name)) continue
          const found = samples.filter((sample) => picks(selector, sample))
          assert.isAbove(found.length, 0, `${alert}: ${selector.name} is not there at the start, or not so labelled`)
          for (const sample of found) for (const label of Object.keys(sample.labels)) labels.add(label)
        }
        for (const label of [...groupedBy, ...shown]) assert.isTrue(labels.has(label), `${alert}: ${label}`)
        if (groupedBy.length > 0 && !expr.includes(" on (")) {
          for (const label of shown) assert.include(groupedBy, label, `${alert} loses a label that it shows`)
        }
      }
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it("no rule takes the first scrapes after a start of Prometheus for a state that lasts", () => {
    for (const { alert, expr, for: lasting } of rules) {
      for (const [, window = ""] of expr.matchAll(/_over_time\([^[]*\[(\w+)\]/g)) {
        // A window has as many scrapes as there are yet: one, after a start.
        assert.isAtLeast(secondsOf(lasting ?? "0s"), secondsOf(window), `${alert}: \`for\` is shorter than ${window}`)
      }
    }
    const { expr, for: lasting, labels } = rules.find(({ alert }) => alert === "HoldfastTurnsWaitLong") ?? assert.fail()
    assert.deepStrictEqual([labels["severity"], lasting], ["page", "4h"])
    assert.match(expr, /^min_over_time\(/)
  })

  it("each rule has a unique name, a severity, the event and what to do, and operations.md names the file", () => {
    assert.isAbove(rules.length, 8)
    assert.strictEqual(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    assert.include(docs("operations.md"), "(prometheus-alerts.yml)")
    for (const { alert, annotations, for: lasting = "1m", labels } of rules) {
      assert.include(["page", "ticket"], labels["severity"], alert)
      assert.match(lasting, /^\d+[smh]$/, alert)
      assert.deepStrictEqual(Object.keys(annotations), ["summary", "description"], alert)
    }
  })
})
