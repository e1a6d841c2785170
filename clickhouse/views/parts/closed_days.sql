-- Which rows of a rollup by day are read: those of closed days that are not marked. Needs what complete_days gives, as
-- complete, and its marks, as marked.
        epoch = complete.1
        AND namespace_id = {namespace} -- one company
        AND day < complete.2
        AND (namespace_id, day) NOT IN marked
        AND count > 0
