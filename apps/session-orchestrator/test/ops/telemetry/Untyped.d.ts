/** Types of third-party modules that have none, or useless ones. */
declare module "parse-prometheus-text-format" {
  export default function parse(text: string): ReadonlyArray<{
    readonly name: string
    readonly type: string
    readonly metrics: ReadonlyArray<{ readonly labels?: Readonly<Record<string, string>>; readonly value?: string }>
  }>
}
