/**
 * Text of a model as Markdown.
 *
 * Text that is still arriving is cut at blank lines outside of code: a delta renders only the last piece anew. A long text stays cut
 * when it is finished, and its pieces are kept for some time: the page does not stand still when a long answer ends, or comes into sight
 * again. Only a text whose pieces refer to each other (footnotes, addresses at its end) is rendered whole.
 *
 * The text is untrusted. It becomes elements of React, never HTML: tags in it are shown as the text that they are. `rehype-sanitize` keeps
 * known elements and attributes alone, which have no script, no style and no event. Nothing in it loads by itself: an image is shown as its
 * description and its address. A link opens only when a person follows it, in a new tab that learns nothing of this page, and names its
 * host where its text does not.
 */
import {
  type ComponentPropsWithoutRef,
  lazy,
  memo,
  type ReactElement,
  type ReactNode,
  Suspense,
  useLayoutEffect,
  useRef
} from "react"
import ReactMarkdown, { type Components } from "react-markdown"
import rehypeSanitize from "rehype-sanitize"
import remarkGfm from "remark-gfm"
import type { PluggableList } from "unified"
import * as Blocks from "./Blocks.ts"
import * as Formulas from "./Formulas.ts"
import type * as MathMl from "./MathMl.ts"
import { CopyButton } from "./CopyButton.tsx"
import "./markdown.css"

/** A text that is finished. */
export const Markdown = memo(({ text }: { readonly text: string }) => {
  if (text.length > LONG && !REFERRED.test(text)) return <Groups groups={Blocks.grouped(Blocks.none, text).groups} />
  return (
    <div className="markdown">
      <Block text={text} isKept />
    </div>
  )
})

/** A text that is arriving. */
export const MarkdownInProgress = ({ text }: { readonly text: string }) => {
  const before = useRef(Blocks.none)
  // The same text has the same groups, so a render that is thrown away does no harm.
  before.current = Blocks.grouped(before.current, text)
  return <Groups groups={before.current.groups} isArriving />
}

/** A part of the tree of a text (mdast, and then hast). */
export interface Node {
  type: string
  value?: string
  tagName?: string
  properties?: Record<string, unknown>
  children?: Array<Node>
}

/**
 * The levels of the headings of a text, below those of the page: a plugin of rehype.
 *
 * The first heading of a text is of level 3, and none is more than one level deeper than the heading before it, whatever the model has
 * written: that is how screen readers find their way. `depth-N` is the level that the model has written; it alone decides the size, so a
 * text that arrives in pieces does not jump.
 */
export const renumber = () => (tree: Node) => {
  const open: Array<number> = []
  const visit = (node: Node): void => {
    const depth = Number(/^h([1-6])$/.exec(node.tagName ?? "")?.[1] ?? 0)
    if (depth > 0) {
      while ((open.at(-1) ?? 0) >= depth) open.pop()
      open.push(depth)
      node.tagName = `h${Math.min(LOWEST, OWN + open.length)}`
      node.properties = { ...node.properties, className: [`depth-${depth}`] }
    }
    node.children?.forEach(visit)
  }
  visit(tree)
}

// --- internal

/** The levels of headings that the page itself has. */
const OWN = 2

const LOWEST = 6

interface GroupsProps {
  readonly groups: Blocks.Grouped["groups"]
  readonly isArriving?: boolean
}

const Groups = ({ groups, isArriving = false }: GroupsProps) => (
  <div className="markdown">
    {groups.map((group, index) => (
      <Group key={index} blocks={group} isArriving={isArriving && index === groups.length - 1} />
    ))}
  </div>
)

interface GroupProps {
  readonly blocks: ReadonlyArray<string>
  /** Its last block is not finished. */
  readonly isArriving: boolean
}

const Group = memo(({ blocks, isArriving }: GroupProps) => (
  <div className="markdown-group">
    {blocks.map((block, index) => (
      <Block key={index} text={block} isKept={!isArriving || index < blocks.length - 1} />
    ))}
  </div>
))

/** Characters of a text that is rendered whole in some milliseconds. */
const LONG = 4_000

/** The definition of a footnote or of an address, to which another piece can refer. */
const REFERRED = /^ {0,3}\[[^\]\n]+\]:/m

/** Pieces that are kept, the newest of them last. */
const MOST_KEPT = 1_000

const kept = new Map<string, ReactElement>()

interface BlockProps {
  readonly text: string
  /** It is finished: the same text will be drawn again. */
  readonly isKept: boolean
}

const Block = memo(({ isKept, text }: BlockProps) => {
  const known = kept.get(text)
  if (known !== undefined) return known
  // A plain function of its properties: its elements can be drawn in any place.
  const made = ReactMarkdown({
    children: Formulas.fenced(text, !isKept),
    remarkPlugins: isKept ? REMARK : REMARK_ARRIVING,
    rehypePlugins: REHYPE,
    components: isKept ? components : arriving
  })
  if (isKept) {
    kept.set(text, made)
    const [oldest] = kept.keys()
    if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest)
  }
  return made
})

/** A tag is shown, not dropped: an answer about HTML may have forgotten its code marks. */
const htmlAsText = () => (tree: Node) => {
  const change = (node: Node, isInline: boolean): void => {
    for (const [index, child] of (node.children ?? []).entries()) {
      if (child.type === "html") {
        const text = { type: "text", value: child.value ?? "" }
        node.children?.splice(index, 1, isInline ? text : { type: "paragraph", children: [text] })
      } else change(child, INLINE.has(child.type))
    }
  }
  change(tree, false)
}

/** The elements that have text, in which a paragraph cannot be. */
const INLINE: ReadonlySet<string> = new Set([
  "paragraph",
  "heading",
  "tableCell",
  "emphasis",
  "strong",
  "delete",
  "link",
  "linkReference"
])

const remarkOf = (isArriving: boolean): PluggableList => [remarkGfm, [Formulas.inLines, { isArriving }], htmlAsText]
const REMARK = remarkOf(false)
const REMARK_ARRIVING = remarkOf(true)
const REHYPE = [rehypeSanitize, renumber]

/** The addresses that a person can follow from a text. */
const FOLLOWED = /^(?:https?:|mailto:)/i

const hostOf = (address: string): string => {
  try {
    return new URL(address).host
  } catch {
    return ""
  }
}

type Of<Tag extends keyof React.JSX.IntrinsicElements> = ComponentPropsWithoutRef<Tag>

const Link = ({ children, href = "" }: Of<"a">) => {
  if (!FOLLOWED.test(href)) return <span>{children}</span>
  const host = hostOf(href)
  const isNamed = host === "" || (typeof children === "string" && hostOf(children) === host)
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" referrerPolicy="no-referrer" title={href}>
        {children}
      </a>
      {!isNamed && <span className="quiet"> ({host})</span>}
    </>
  )
}

const Image = ({ alt = "", src }: Of<"img">) => (
  <span className="image-box">
    Image{alt === "" ? "" : ` “${alt}”`}, not loaded{typeof src === "string" && src !== "" ? `: ${src}` : ""}
  </span>
)

interface CodeOf {
  readonly language: string
  readonly text: string
}

const plain = { default: ({ text }: CodeOf): ReactNode => text }

/** Without the colours the code is the same: where they cannot be loaded, it stays plain. */
const Coloured = lazy(() =>
  import("./Colours.tsx").then(
    ({ Coloured }): typeof plain => ({ default: Coloured }),
    () => plain
  )
)

let mathMl: typeof MathMl | undefined

/** A formula: as text until it is whole, and wherever it cannot be drawn. */
const Formula = ({ isArriving = false, source }: { readonly source: string; readonly isArriving?: boolean }) => {
  const place = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    if (isArriving) return undefined
    let isShown = true
    const draw = (): void => void (isShown && place.current !== null && mathMl?.draw(place.current, source))
    // An import takes a task, also of what is there: the text would be seen in between.
    if (mathMl !== undefined) draw()
    else
      import("./MathMl.ts").then(
        (loaded) => {
          mathMl = loaded
          draw()
        },
        () => undefined
      )
    return () => void (isShown = false)
  }, [isArriving, source])
  return Formulas.read(source).isDisplay ? (
    <span className="formula display" aria-busy={isArriving} tabIndex={0} role="group" aria-label="Formula" ref={place}>
      {source}
    </span>
  ) : (
    <span className="formula" ref={place}>
      {source}
    </span>
  )
}

/** Wide content scrolls in a box of its own, which the keyboard reaches. Code that is arriving would be parsed anew with each delta. */
const Code = ({ children, isArriving = false }: Of<"pre"> & { readonly isArriving?: boolean }) => {
  const { language, text } = codeOf(children)
  if (text !== undefined && Formulas.isDrawn(language, text))
    return <Formula source={text.trim()} isArriving={language === Formulas.ARRIVING} />
  return (
    <div className="code">
      <div className="code-head">
        <span>{language}</span>
        <CopyButton textOf={(button) => button.closest(".code")?.querySelector("pre")?.textContent ?? ""} />
      </div>
      <pre tabIndex={0} aria-label={language === "" ? "Code" : `Code, ${language}`} role="region">
        {isArriving || language === "" || text === undefined ? (
          children
        ) : (
          <code className={`language-${language}`}>
            <Suspense fallback={text}>
              <Coloured language={language} text={text} />
            </Suspense>
          </code>
        )}
      </pre>
    </div>
  )
}

const codeOf = (children: unknown): { readonly language: string; readonly text?: string } => {
  if (typeof children !== "object" || children === null || !("props" in children)) return { language: "" }
  const { children: text, className } = children.props as { readonly children?: unknown; readonly className?: string }
  const language = /language-([\w+#.-]+)/.exec(className ?? "")?.[1] ?? ""
  return { language, ...(typeof text === "string" ? { text } : {}) }
}

const Table = ({ children }: Of<"table">) => (
  <div className="wide" tabIndex={0} role="region" aria-label="Table">
    <table>{children}</table>
  </div>
)

const components: Components = {
  a: Link,
  img: Image,
  pre: Code,
  code: ({ children, className }) =>
    className === `language-${Formulas.LANGUAGE}` && typeof children === "string" ? (
      <Formula source={children} />
    ) : (
      <code className={className}>{children}</code>
    ),
  table: Table,
  input: ({ checked }) => <span>{checked === true ? "☑" : "☐"}</span>
}

const arriving: Components = { ...components, pre: (properties) => <Code {...properties} isArriving /> }
