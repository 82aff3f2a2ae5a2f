/** What others have written without types of its own, or with types that say nothing. */
declare module "parse-prometheus-text-format" {
  export default function parse(text: string): ReadonlyArray<{
    readonly name: string
    readonly type: string
    readonly metrics: ReadonlyArray<{
      readonly labels?: Readonly<Record<string, string>>
      readonly value?: string
    }>
  }>
}
