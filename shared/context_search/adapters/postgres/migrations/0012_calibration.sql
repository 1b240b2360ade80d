-- What an index is worth by itself: the weight of its vectors, and what their cosines mean.

ALTER TABLE index_generation ADD COLUMN calibration jsonb;
COMMENT ON COLUMN index_generation.calibration IS
    'What was found out without judged questions, and on what. NULL: not yet. docs/quality.md';

CREATE TABLE asked_vectors (
    model text NOT NULL,
    dimensions int NOT NULL,
    questions bytea NOT NULL,
    vectors bytea NOT NULL,
    PRIMARY KEY (model, dimensions)
);
ALTER TABLE asked_vectors ALTER COLUMN vectors SET STORAGE EXTERNAL;  -- it does not compress
COMMENT ON TABLE asked_vectors IS
    'The vectors of the questions that no index answers, embedded once a model.';
COMMENT ON COLUMN asked_vectors.questions IS 'sha256 of the questions, and of the parameters that they were embedded with.';
COMMENT ON COLUMN asked_vectors.vectors IS 'One after the other, as little-endian f32.';
