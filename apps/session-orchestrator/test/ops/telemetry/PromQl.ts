/** Reads the selectors of a PromQL query, with the parser of Prometheus's own web page. */
import { parser } from "@prometheus-io/lezer-promql"

/** One metric of a query, with the labels that select it. */
export interface Selector {
  readonly name: string
  readonly matchers: ReadonlyArray<{
    readonly label: string
    readonly operator: string
    readonly value: string
  }>
}

export interface Query {
  readonly isValid: boolean
  readonly selectors: ReadonlyArray<Selector>
  /** Labels of `by`, `on` and the like. */
  readonly groupedBy: ReadonlyArray<string>
}

export const read = (text: string): Query => {
  let isValid = true
  const selectors: Array<Selector> = []
  const groupedBy: Array<string> = []
  parser.parse(text).iterate({
    enter: ({ from, name, node, to, type }) => {
      isValid &&= !type.isError
      const own = text.slice(from, to)
      if (name === "LabelName" && node.parent?.name === "GroupingLabels") groupedBy.push(own)
      if (name !== "VectorSelector") return
      const metric = node.getChild("Identifier")
      const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? []
      const part = (of: typeof node, child: string): string => {
        const found = of.getChild(child)
        return found === null ? "" : text.slice(found.from, found.to)
      }
      selectors.push({
        name: metric === null ? "" : text.slice(metric.from, metric.to),
        matchers: matchers.map((matcher) => ({
          label: part(matcher, "LabelName"),
          operator: part(matcher, "MatchOp"),
          value: part(matcher, "StringLiteral").slice(1, -1)
        }))
      })
    }
  })
  return { isValid, selectors, groupedBy }
}
