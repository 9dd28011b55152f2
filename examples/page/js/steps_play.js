// Panel 1, step by step: the stages one after the other by themselves, as methods of the panel. This module owns the
// clock, and in which order cells and their terms appear; nobody is shown it who asks for reduced motion. It knows all
// modules before it.

const PACES = [2400, 1200, 600, 300, 120]; // milliseconds from one term to the next

const STEPS_PLAY = {
    played: null, pace: 2,

    startPlay() {
        when('click', 'steps-play', () => this.played ? this.stopPlay() : this.play());
        for (const [id, by] of [['slower', -1], ['faster', 1]])
            when('click', `steps-${id}`, () => {
                this.pace = clamp(this.pace + by, 0, PACES.length - 1);
                this.renderPlay();
            });
    },

    // What appears at this stage: of the first row each term of each cell, then row by row. `until`: so many cells are
    // there; `terms`: so many of the newest cell's.
    frames() {
        const frames = this.computedHere().flatMap((name) => {
            const { rows, cols } = this.matrixOf(name);
            const first = range(cols).flatMap((c) => {
                const { terms = 1 } = this.explain(name, 0, c);
                return range(terms).map((t) => ({ name, r: 0, c, until: t + 1 < terms ? c : c + 1, terms: t + 1 }));
            });
            return [...first, ...range(rows).slice(1).map((r) => ({ name, r, c: cols - 1, until: (r + 1) * cols }))];
        });
        return [{ until: 0 }, ...frames];
    },

    play() {
        if (this.paused) this.played = this.paused;
        else this.playStage(this.firstStage());
        this.paused = null;
        $('steps-sum').setAttribute('aria-live', 'off');
        this.tick();
    },

    // The frame that is due, and the next one after a while.
    tick() {
        if (!this.played) return;
        if (shown !== this) {
            this.stopPlay();
            return;
        }
        const { frames, n } = this.played;
        this.render();
        const isLast = n === frames.length - 1, rest = n === 0 || isLast ? 3 : 1;
        this.clock = setTimeout(() => {
            if (!isLast) this.played.n++;
            else if (this.stage < STAGES.length - 1) this.playStage(this.stage + 1);
            else this.endPlay();
            this.tick();
        }, rest * PACES[this.pace]);
    },

    playStage(stage) {
        this.stage = stage;
        this.looked = null;
        this.played = { frames: this.frames(), n: 0 };
        remember();
    },

    // Where playing has come to, so that it can go on from there.
    stopPlay() {
        this.paused = this.played;
        this.endPlay();
    },

    endPlay() {
        clearTimeout(this.clock);
        this.played = null;
        $('steps-sum').setAttribute('aria-live', 'polite');
        this.renderPlay();
    },

    // Something else is wanted: all numbers are there again.
    leavePlay() {
        if (this.played) this.endPlay();
        this.paused = null;
    },

    // How many cells of a matrix are there: all of them, unless they are just appearing.
    until(name) {
        const now = this.played || this.paused, place = this.computedHere().indexOf(name);
        if (!now || place < 0) return undefined;
        const frame = now.frames[now.n], newest = this.computedHere().indexOf(frame.name);
        return place < newest ? undefined : place === newest ? frame.until : 0;
    },

    renderPlay() {
        $('steps-play').textContent = this.played ? '❚❚ Pause' : '▶ Play';
        $('steps-slower').disabled = this.pace === 0;
        $('steps-faster').disabled = this.pace === PACES.length - 1;
    },
};
